package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
)

// Topic is the wanted state of a topic.
type Topic struct {
	Name       string
	Partitions int           // 0 means Config.Partitions
	Retention  time.Duration // 0 means Config.Retention
}

const (
	// topicPoll is how often a change of topics is checked: brokers learn of it a moment after it was accepted.
	topicPoll = 100 * time.Millisecond
	// topicsTimeout bounds EnsureTopics. A busy cluster takes longer than one request to create topics.
	topicsTimeout = 6 * requestTimeout
)

// EnsureTopics creates the topics that do not exist and adds partitions to those that have fewer, and returns when
// the cluster knows them. What the cluster has not done in time, or cannot do at the moment, is requested again for up
// to 30 seconds. Several processes may call it at once, and it may be repeated. It never removes partitions and does
// not change the retention and the replication of existing topics.
func (c *Client) EnsureTopics(ctx context.Context, topics []Topic) error {
	if len(topics) == 0 {
		return nil
	}
	names := make([]string, len(topics))
	want := make(map[string]int, len(topics))
	for i, topic := range topics {
		if !topicName.MatchString(topic.Name) {
			return fmt.Errorf("ensure topic %q: a name has 1 to 249 letters, digits, dots, dashes and underscores", topic.Name)
		}
		names[i] = topic.Name
		if topic.Partitions == 0 {
			topic.Partitions = c.cfg.Partitions
		}
		want[topic.Name] = max(want[topic.Name], topic.Partitions)
	}
	ctx, cancel := context.WithTimeout(ctx, topicsTimeout)
	defer cancel()
	var last error
	for {
		err := c.ensureTopics(ctx, topics, names, want)
		switch {
		case isTemporary(err):
			last = err
		case err != nil && ctx.Err() != nil && last != nil:
			return last // It has the reason.
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(topicPoll):
		}
	}
}

// ensureTopics is one attempt of EnsureTopics. After an attempt that timed out, topics may be there.
func (c *Client) ensureTopics(ctx context.Context, topics []Topic, names []string, want map[string]int) error {
	c.transport.forget()
	have, err := c.layout(ctx, names)
	if err != nil {
		return fmt.Errorf("ensure topics: %w", err)
	}
	if err := c.createTopics(ctx, topics, have, want); err != nil {
		return err
	}
	return c.awaitPartitions(ctx, names, want)
}

// isTemporary reports whether Kafka's protocol defines an error as one to repeat the request for.
func isTemporary(err error) bool {
	e, ok := errors.AsType[kafka.Error](err)
	return ok && e.Temporary()
}

// refusal returns an error of those of topics, if there is one: one that stays rather than a temporary one.
func refusal(errs map[string]error) (topic string, err error) {
	for name, e := range errs {
		if e != nil && (err == nil || isTemporary(err)) {
			topic, err = name, e
		}
	}
	return topic, err
}

func (c *Client) createTopics(ctx context.Context, topics []Topic, have map[string]topicLayout,
	want map[string]int) error {
	var missing []kafka.TopicConfig
	var short []kafka.TopicPartitionsConfig
	seen := make(map[string]bool, len(topics))
	for _, topic := range topics {
		if seen[topic.Name] {
			continue // One request may name a topic only once.
		}
		seen[topic.Name] = true
		count := want[topic.Name]
		switch layout, ok := have[topic.Name]; {
		case !ok:
			missing = append(missing, c.topicConfig(topic, count))
		case len(layout.leaders) < count:
			short = append(short, kafka.TopicPartitionsConfig{Name: topic.Name,
				Count: int32(count)}) //nolint:gosec // From a column of 32 bits, or validated.
		}
	}
	if len(missing) > 0 {
		// The library waits for new topics to appear. A topic that fails to appear would block it until ctx ends.
		ctx, cancel := context.WithTimeout(ctx, 3*requestTimeout)
		defer cancel()
		res, err := c.kafka.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: missing})
		if err != nil {
			return fmt.Errorf("create topics: %w", err)
		}
		maps.DeleteFunc(res.Errors, func(_ string, err error) bool { return errors.Is(err, kafka.TopicAlreadyExists) })
		if name, err := refusal(res.Errors); err != nil {
			return c.explainCreate(name, err)
		}
	}
	if len(short) > 0 {
		res, err := c.kafka.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: short})
		if err != nil {
			return fmt.Errorf("add partitions: %w", err)
		}
		// Another process was faster. awaitPartitions checks that.
		maps.DeleteFunc(res.Errors, func(_ string, err error) bool { return errors.Is(err, kafka.InvalidPartitionNumber) })
		if name, err := refusal(res.Errors); err != nil {
			return fmt.Errorf("add partitions to topic %s: %w", name, c.explain(err, "Alter", name, ""))
		}
	}
	return nil
}

func (c *Client) topicConfig(topic Topic, partitions int) kafka.TopicConfig {
	if topic.Retention == 0 {
		topic.Retention = c.cfg.Retention
	}
	entries := []kafka.ConfigEntry{
		{ConfigName: "cleanup.policy", ConfigValue: "delete"},
		{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(topic.Retention.Milliseconds(), 10)},
	}
	if c.cfg.MinInsync > 0 {
		entries = append(entries, kafka.ConfigEntry{ConfigName: "min.insync.replicas",
			ConfigValue: strconv.Itoa(c.cfg.MinInsync)})
	}
	return kafka.TopicConfig{
		Topic: topic.Name, NumPartitions: partitions, ReplicationFactor: c.cfg.Replication, ConfigEntries: entries,
	}
}

// explainCreate adds the remedy to the error of a refused topic.
func (c *Client) explainCreate(topic string, err error) error {
	if errors.Is(err, kafka.InvalidReplicationFactor) {
		return fmt.Errorf(
			"create topic %s: the cluster has too few brokers for %d copies: set broker.replication to at most their number "+
				"(and broker.min_insync below it), or add brokers: %w",
			topic, c.cfg.Replication, err)
	}
	return fmt.Errorf("create topic %s: %w", topic, c.explain(err, "Create", topic, ""))
}

// awaitPartitions waits until the cluster shows every topic with the wanted number of partitions and their leaders.
func (c *Client) awaitPartitions(ctx context.Context, names []string, want map[string]int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*requestTimeout)
	defer cancel()
	for {
		waiting, err := c.notReady(ctx, names, want)
		if err == nil && waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("wait for topic %s to appear with its partitions: %w", waiting, err)
		case <-time.After(topicPoll):
			c.transport.forget()
		}
	}
}

func (c *Client) notReady(ctx context.Context, names []string, want map[string]int) (string, error) {
	have, err := c.layout(ctx, names)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		leaders := have[name].leaders
		if len(leaders) < want[name] {
			return name, nil
		}
		for _, leader := range leaders {
			if leader < 0 {
				return name, nil
			}
		}
	}
	return "", nil
}
