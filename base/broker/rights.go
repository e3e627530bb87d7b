package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// The operations of Kafka's access control that adsync's user needs, by their bits in a broker's answer.
const (
	opRead     = 3
	opWrite    = 4
	opCreate   = 5
	opAlter    = 7
	opDescribe = 8
)

var operationNames = map[int]string{opRead: "Read", opWrite: "Write", opCreate: "Create", opAlter: "Alter",
	opDescribe: "Describe"}

// operations are what the user may do, a bit for each; none if the broker does not report them.
type operations int32

func (o operations) may(op int) bool { return o&(1<<op) != 0 }

// known reports whether the broker reported rights. An older one sends nothing, and one that could not read them
// sends the least number.
func (o operations) known() bool { return o > 0 }

// metadataRequest requests topics and the user's rights on them. The library answers its own kind of request from
// its cache, which has no rights. It sends a request that can be split.
type metadataRequest struct{ *lookup }

// lookup is the library's request under a name that it does not answer from its cache.
type lookup metadata.Request

// ApiKey implements protocol.Message.
func (*lookup) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Split implements protocol.Splitter.
func (q *metadataRequest) Split(protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	return []protocol.Message{q.lookup}, q, nil
}

// Merge implements protocol.Merger.
func (*metadataRequest) Merge(_ []protocol.Message, results []any) (protocol.Message, error) {
	m, err := protocol.Result(results[0])
	if err != nil {
		return nil, err
	}
	answer, ok := m.(*metadata.Response)
	if !ok {
		return nil, errors.New("the broker's answer does not match the request")
	}
	return &metadataAnswer{answer}, nil
}

// metadataAnswer is the answer under another name, because the library would treat it as the answer to its own
// request.
type metadataAnswer struct{ *metadata.Response }

// describeTopics reads topics, and what the user may do with each and with the cluster.
func (c *Client) describeTopics(ctx context.Context, topics []string) (*metadata.Response, error) {
	var answer *metadataAnswer
	err := c.retryRead(ctx, func(ctx context.Context) (err error) {
		answer, err = roundTrip[*metadataAnswer](ctx, c, &metadataRequest{&lookup{
			TopicNames: topics, IncludeClusterAuthorizedOperations: true, IncludeTopicAuthorizedOperations: true,
		}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up the topics and the rights: %w", err)
	}
	return answer.Response, nil
}

// groupRights returns what the user may do with a group.
func (c *Client) groupRights(ctx context.Context, group string) (operations, error) {
	var answer *describegroups.Response
	err := c.retryRead(ctx, func(ctx context.Context) (err error) {
		answer, err = roundTrip[*describegroups.Response](ctx, c,
			&describegroups.Request{Groups: []string{group}, IncludeAuthorizedOperations: true})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look up the rights on group %s: %w", group, err)
	}
	if len(answer.Groups) != 1 {
		return 0, errOmitted
	}
	if code := kafka.Error(answer.Groups[0].ErrorCode); code != 0 && code != kafka.GroupIdNotFound {
		return 0, code
	}
	return operations(answer.Groups[0].AuthorizedOperations), nil
}

// minInsync returns the topics' min.insync.replicas, as far as the user may read them.
func (c *Client) minInsync(ctx context.Context, topics []string) (map[string]string, error) {
	const name = "min.insync.replicas"
	req := &kafka.DescribeConfigsRequest{}
	for _, topic := range topics {
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{name},
		})
	}
	var res *kafka.DescribeConfigsResponse
	err := c.retryRead(ctx, func(ctx context.Context) (err error) {
		res, err = c.kafka.DescribeConfigs(ctx, req)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	found := map[string]string{}
	for _, r := range res.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("read %s of topic %s: %w", name, r.ResourceName, r.Error)
		}
		for _, entry := range r.ConfigEntries {
			if entry.ConfigName == name {
				found[r.ResourceName] = entry.ConfigValue
			}
		}
	}
	return found, nil
}
