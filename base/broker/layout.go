package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// topicLayout is the known layout of one topic: the leader of each partition, by partition number; -1 means no leader
// at the moment.
type topicLayout struct{ leaders []int32 }

// layout returns the layout of the topics, at most metadataAge old. Topics that do not exist are left out.
func (c *Client) layout(ctx context.Context, topics []string) (map[string]topicLayout, error) {
	c.transport.watch(topics)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := roundTrip[*metadata.Response](ctx, c, &metadata.Request{TopicNames: topics})
	if err != nil {
		return nil, fmt.Errorf("look up topics: %w", err)
	}
	layouts := make(map[string]topicLayout, len(topics))
	for _, topic := range res.Topics {
		// All partitions count, also those without a leader: a key must not move to another partition because one of them
		// is down.
		switch code := kafka.Error(topic.ErrorCode); code {
		case 0, kafka.LeaderNotAvailable:
		case kafka.UnknownTopicOrPartition:
			continue
		default:
			return nil, fmt.Errorf("look up topic %s: %w", topic.Name, c.explain(code, "Describe", topic.Name, ""))
		}
		leaders := make([]int32, len(topic.Partitions))
		for _, p := range topic.Partitions {
			if int(p.PartitionIndex) >= len(leaders) {
				return nil, fmt.Errorf("look up topic %s: it has a partition %d but only %d of them", topic.Name, p.PartitionIndex,
					len(leaders))
			}
			leaders[p.PartitionIndex] = p.LeaderID
		}
		if len(leaders) > 0 {
			layouts[topic.Name] = topicLayout{leaders: leaders}
		}
	}
	return layouts, nil
}

// roundTrip sends a request that the library's client has no method for.
func roundTrip[R protocol.Message](ctx context.Context, c *Client, req protocol.Message) (R, error) {
	var none R
	res, err := c.transport.RoundTrip(ctx, c.kafka.Addr, req)
	if err != nil {
		return none, err
	}
	typed, ok := res.(R)
	if !ok {
		return none, errors.New("the broker's answer does not match the request")
	}
	return typed, nil
}
