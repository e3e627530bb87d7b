package outcomes

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/sasl"
)

// Config is where outcomes are followed.
type Config struct {
	Brokers []string // addresses (host:port) of some brokers
	Topic   string   // "" means adsync.outcomes
	// Group is the name of the consumer group, of one program. Its processes share the work, each outcome comes to one
	// of them, and after a restart they continue where they were. A new group begins with the oldest message.
	Group string
	// Application is whose outcomes are wanted; "" means those of all.
	Application string
	TLS         *tls.Config    // nil means none
	SASL        sasl.Mechanism // nil means none
	// Problem, if set, is called with what is wrong while Follow continues: brokers that do not answer, messages that are
	// no outcomes.
	Problem func(error)
}

const (
	topicDefault = "adsync.outcomes"
	retryPause   = time.Second
	readWait     = 500 * time.Millisecond
)

// Follow calls handle for each outcome until ctx ends, and then returns nil. It calls handle for one outcome of a
// partition at a time, and for those of different partitions at once. The place in the topic is stored after handle
// has returned nil. After an error of handle, Follow ends and returns that error; the outcome comes again later.
//
// Outcomes with a number that this process has already seen for their key are dropped.
func Follow(ctx context.Context, cfg Config, handle func(context.Context, Outcome) error) error {
	if len(cfg.Brokers) == 0 || cfg.Group == "" {
		return errors.New("follow outcomes: Brokers and Group must be set")
	}
	f := &follower{cfg: cfg, handle: handle, seen: map[string]int64{}}
	f.cfg.Topic = cmp.Or(cfg.Topic, topicDefault)
	f.dialer = &kafka.Dialer{Timeout: 10 * time.Second, DualStack: true, TLS: cfg.TLS, SASLMechanism: cfg.SASL}
	if !f.awaitTopic(ctx) {
		return nil
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: cfg.Group, Brokers: cfg.Brokers, Topics: []string{f.cfg.Topic}, Dialer: f.dialer, Timeout: 10 * time.Second,
		HeartbeatInterval: time.Second, StartOffset: kafka.FirstOffset, WatchPartitionChanges: true,
	})
	if err != nil {
		return fmt.Errorf("follow outcomes: %w", err)
	}
	err = f.follow(ctx, group)
	if closed := group.Close(); err == nil && closed != nil {
		err = fmt.Errorf("leave the group %s: %w", cfg.Group, closed)
	}
	return err
}

type follower struct {
	cfg    Config
	dialer *kafka.Dialer
	handle func(context.Context, Outcome) error

	mu     sync.Mutex
	seen   map[string]int64 // the highest number of each key
	failed error            // of handle
}

// awaitTopic waits until the topic exists, and returns false if ctx ends before. The library's group would let the
// brokers make a missing topic, and would then never notice that it has partitions.
func (f *follower) awaitTopic(ctx context.Context) bool {
	transport := &kafka.Transport{TLS: f.cfg.TLS, SASL: f.cfg.SASL, MetadataTTL: retryPause,
		MetadataTopics: []string{f.cfg.Topic}}
	defer transport.CloseIdleConnections()
	for ctx.Err() == nil {
		answer, err := transport.RoundTrip(ctx, kafka.TCP(f.cfg.Brokers...),
			&metadata.Request{TopicNames: []string{f.cfg.Topic}})
		if response, ok := answer.(*metadata.Response); ok && err == nil {
			err = kafka.UnknownTopicOrPartition
			if len(response.Topics) > 0 && len(response.Topics[0].Partitions) > 0 {
				return true
			}
		}
		f.report(fmt.Errorf("wait for the topic %s: %w", f.cfg.Topic, err))
		pause(ctx)
	}
	return false
}

func (f *follower) follow(ctx context.Context, group *kafka.ConsumerGroup) error {
	for {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // The end of ctx is not a failure.
		case err != nil:
			f.report(fmt.Errorf("join the group %s: %w", f.cfg.Group, err))
			pause(ctx)
			continue
		}
		ended := make(chan struct{})
		// The library ends the generation when a function that was started in it returns.
		generation.Start(func(revoked context.Context) {
			defer close(ended)
			f.work(ctx, revoked, generation)
		})
		<-ended
		if err := f.problem(); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// work follows the partitions of a generation until it ends, ctx ends or a message fails.
func (f *follower) work(ctx, revoked context.Context, generation *kafka.Generation) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(revoked, cancel)()
	var partitions sync.WaitGroup
	for _, p := range generation.Assignments[f.cfg.Topic] {
		partitions.Go(func() {
			if err := f.partition(work, generation, p); err != nil {
				f.mu.Lock()
				if f.failed == nil {
					f.failed = err
				}
				f.mu.Unlock()
				cancel()
			}
		})
	}
	<-work.Done()
	partitions.Wait()
}

// partition passes a partition's outcomes on. It returns nil when ctx ends.
func (f *follower) partition(ctx context.Context, generation *kafka.Generation, p kafka.PartitionAssignment) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: f.cfg.Brokers, Topic: f.cfg.Topic, Partition: p.ID, Dialer: f.dialer, MinBytes: 1, MaxBytes: 10 << 20,
		MaxWait: readWait,
	})
	defer reader.Close()
	if err := reader.SetOffset(p.Offset); err != nil {
		return fmt.Errorf("begin at %d of partition %d: %w", p.Offset, p.ID, err)
	}
	for {
		m, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return nil // The partition goes to another process, or all ends.
		}
		if err != nil {
			f.report(fmt.Errorf("read partition %d: %w", p.ID, err))
			pause(ctx)
			continue
		}
		if err := f.pass(ctx, &m); err != nil {
			if ctx.Err() != nil {
				return nil // The outcome comes again.
			}
			return err
		}
		// One commit for each outcome: a restart repeats at most the one under way.
		err = generation.CommitOffsets(map[string]map[int]int64{f.cfg.Topic: {p.ID: m.Offset + 1}})
		if err != nil {
			f.report(fmt.Errorf("store the place in partition %d: %w", p.ID, err))
		}
	}
}

// pass passes a message on, unless it is another application's or a double.
func (f *follower) pass(ctx context.Context, m *kafka.Message) error {
	var o Outcome
	if err := json.Unmarshal(m.Value, &o); err != nil || o.Seq < 1 {
		f.report(fmt.Errorf("message %d of partition %d is no outcome and is left out: %w", m.Offset, m.Partition,
			cmp.Or(err, errors.New("it has no seq"))))
		return nil
	}
	o.Key = string(m.Key)
	if f.cfg.Application != "" && o.Application != f.cfg.Application {
		return nil
	}
	f.mu.Lock()
	double := o.Seq <= f.seen[o.Key]
	f.mu.Unlock()
	if double {
		return nil
	}
	if err := f.handle(ctx, o); err != nil {
		return fmt.Errorf("handle the outcome %d of %s: %w", o.Seq, o.Key, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[o.Key] = o.Seq
	return nil
}

func (f *follower) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *follower) report(err error) {
	if f.cfg.Problem != nil {
		f.cfg.Problem(err)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryPause):
	}
}
