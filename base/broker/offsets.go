package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

// PartitionOffsets is the progress of one partition's log and of its readers.
type PartitionOffsets struct {
	Topic     string
	Partition int
	Start     int64 // the first offset that can still be read
	End       int64 // the offset the next message gets
	Committed int64 // the offset the group reads next; -1 when it has committed none
}

// Lag returns how many messages the group has not finished yet.
func (o PartitionOffsets) Lag() int64 {
	if o.Committed < o.Start {
		return o.End - o.Start
	}
	return max(o.End-o.Committed, 0)
}

// Offsets returns the state of every partition of the topics, in the order of the topics and of their partitions. An
// empty group leaves Committed at -1. The committed offsets are read before the ends, so that a busy group does not
// seem to be ahead of its log. Offsets returns either every partition or an error. It never invents a value that no
// broker reported.
func (c *Client) Offsets(ctx context.Context, group string, topics ...string) ([]PartitionOffsets, error) {
	layouts, err := c.layout(ctx, topics)
	if err != nil {
		return nil, fmt.Errorf("read offsets: %w", err)
	}
	var out []PartitionOffsets
	for _, topic := range topics {
		layout, ok := layouts[topic]
		if !ok {
			return nil, fmt.Errorf("read offsets of %s: %w", topic, ErrUnknownTopic)
		}
		for partition := range layout.leaders {
			out = append(out, PartitionOffsets{Topic: topic, Partition: partition, Committed: -1})
		}
	}
	if group != "" && len(out) > 0 {
		if err := c.readCommitted(ctx, group, out); err != nil {
			return nil, fmt.Errorf("read offsets of group %s: %w", group,
				c.explain(err, "Describe", strings.Join(topics, ", "), group))
		}
	}
	if err := c.readBounds(ctx, out); err != nil {
		return nil, fmt.Errorf("read offsets: %w", c.explain(err, "Describe", strings.Join(topics, ", "), group))
	}
	return out, nil
}

const (
	readTries = 4
	readPause = 200 * time.Millisecond
)

// retryRead repeats a read until it is answered, a few times with a growing pause: it may meet connections that died
// with a broker's restart, or a leader or coordinator that is moving.
func (c *Client) retryRead(ctx context.Context, read func(context.Context) error) error {
	pause := readPause
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		err := read(attempt)
		cancel()
		if err == nil || try == readTries || !mayPass(err) {
			return err
		}
		if clock.Sleep(ctx, pause) != nil {
			return err
		}
		c.transport.refresh()
		pause *= 2
	}
}

func (c *Client) readCommitted(ctx context.Context, group string, out []PartitionOffsets) error {
	topics := make(map[string][]int)
	for _, o := range out {
		topics[o.Topic] = append(topics[o.Topic], o.Partition)
	}
	return c.retryRead(ctx, func(ctx context.Context) error {
		res, err := c.kafka.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: topics})
		if err != nil {
			return err
		}
		if errors.Is(res.Error, kafka.GroupIdNotFound) {
			return nil // Some brokers answer so for a group that never existed; others report -1 for each partition.
		}
		if res.Error != nil {
			return res.Error
		}
		reported := make(map[Position]int64, len(out))
		for topic, partitions := range res.Topics {
			for _, p := range partitions {
				if p.Error != nil {
					return fmt.Errorf("partition %d of %s: %w", p.Partition, topic, p.Error)
				}
				reported[Position{Topic: topic, Partition: p.Partition}] = p.CommittedOffset
			}
		}
		for i, o := range out {
			committed, ok := reported[Position{Topic: o.Topic, Partition: o.Partition}]
			if !ok {
				return fmt.Errorf("partition %d of %s: %w", o.Partition, o.Topic, errOmitted)
			}
			out[i].Committed = max(committed, -1)
		}
		return nil
	})
}

var errOmitted = errors.New("the broker left it out of its answer")

// boundsAtOnce is how many partitions are read together. The library makes two requests for each and opens a
// connection for every pending request, so this bounds the connections.
const boundsAtOnce = 3

// readBounds sets Start and End.
func (c *Client) readBounds(ctx context.Context, out []PartitionOffsets) error {
	for len(out) > 0 {
		some := out[:min(len(out), boundsAtOnce)]
		out = out[len(some):]
		if err := c.retryRead(ctx, func(ctx context.Context) error { return c.readSomeBounds(ctx, some) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) readSomeBounds(ctx context.Context, out []PartitionOffsets) error {
	topics := make(map[string][]kafka.OffsetRequest)
	for _, o := range out {
		topics[o.Topic] = append(topics[o.Topic], kafka.FirstOffsetOf(o.Partition), kafka.LastOffsetOf(o.Partition))
	}
	res, err := c.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: topics})
	if err != nil {
		return err
	}
	reported := make(map[Position]kafka.PartitionOffsets, len(out))
	for topic, partitions := range res.Topics {
		for _, p := range partitions {
			reported[Position{Topic: topic, Partition: p.Partition}] = p
		}
	}
	for i, o := range out {
		p, ok := reported[Position{Topic: o.Topic, Partition: o.Partition}]
		switch {
		case !ok:
			return fmt.Errorf("partition %d of %s: %w", o.Partition, o.Topic, errOmitted)
		case p.Error != nil:
			return fmt.Errorf("partition %d of %s: %w", o.Partition, o.Topic, p.Error)
		case p.FirstOffset < 0 || p.LastOffset < p.FirstOffset:
			// A dead pooled connection shows up as an offset of -1 with no error.
			return fmt.Errorf("partition %d of %s: offsets %d to %d make no sense", o.Partition, o.Topic, p.FirstOffset,
				p.LastOffset)
		}
		out[i].Start, out[i].End = p.FirstOffset, p.LastOffset
	}
	return nil
}
