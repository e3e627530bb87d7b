package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const kafkaBrokers = 3

// KafkaCluster is three brokers that keep three copies of everything, and accept a write that two of them have. Each
// is a controller too.
type KafkaCluster struct {
	// Version is the release. Empty means KafkaDefault.
	Version string
	// Listeners are, for each broker, listeners next to the usual one.
	Listeners [kafkaBrokers][]*KafkaListener

	brokers []*Server
}

// Launch starts the brokers with their data below dir, and returns when the cluster can be used. Stop it in the end,
// also after an error.
func (d *KafkaCluster) Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) error {
	controllers := make([]string, kafkaBrokers)
	kinds := make([]Kind, kafkaBrokers)
	for i := range kafkaBrokers {
		port, err := ports.Take()
		if err != nil {
			return err
		}
		controllers[i] = Loopback(port)
		kinds[i] = &Kafka{Version: d.Version, Listeners: d.Listeners[i], id: i + 1, controllers: controllers}
	}
	var err error
	if d.brokers, err = LaunchAll(ctx, dir, ports, stderr, kinds...); err != nil {
		return err
	}
	return d.Await(ctx)
}

// Stop ends all brokers. It does not wait until they have passed on the partitions that they lead: the last two could
// not.
func (d *KafkaCluster) Stop() error { return KillAll(d.brokers) }

// Servers returns all brokers.
func (d *KafkaCluster) Servers() []*Server { return d.brokers }

// Addrs returns the addresses of the brokers' usual listeners.
func (d *KafkaCluster) Addrs() []string {
	addrs := make([]string, len(d.brokers))
	for i, s := range d.brokers {
		addrs[i] = s.Kind.(*Kafka).addr
	}
	return addrs
}

// Await waits until all brokers are part of the cluster and have all copies.
func (d *KafkaCluster) Await(ctx context.Context) error {
	return AwaitReady(ctx, "the Kafka cluster", func(ctx context.Context) error {
		topics, err := d.topics(ctx)
		if err != nil {
			return err
		}
		for _, topic := range topics {
			for _, p := range topic.Partitions {
				if len(p.Isr) < len(p.Replicas) || p.Leader.Host == "" {
					return fmt.Errorf("%s/%d has %d of %d copies in sync", topic.Name, p.ID, len(p.Isr), len(p.Replicas))
				}
			}
		}
		return nil
	}, nil)
}

// topics returns all topics, as each of the brokers sees them; it is an error if one of them does not see all
// brokers.
func (d *KafkaCluster) topics(ctx context.Context) (topics []kafka.Topic, err error) {
	for _, s := range d.brokers {
		client, done := s.Kind.(*Kafka).client()
		metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		done()
		if err != nil {
			return nil, fmt.Errorf("ask %s for the topics: %w", s.Name(), err)
		}
		if len(metadata.Brokers) < len(d.brokers) {
			return nil, fmt.Errorf("%s knows %d brokers, want %d", s.Name(), len(metadata.Brokers), len(d.brokers))
		}
		topics = append(topics, metadata.Topics...)
	}
	return topics, nil
}

// Partitions returns how many partitions each topic has whose name begins with prefix.
func (d *KafkaCluster) Partitions(ctx context.Context, prefix string) (partitions map[string]int, err error) {
	return partitions, d.each(func(broker *Kafka) error {
		partitions, err = broker.Partitions(ctx, prefix)
		return err
	})
}

// Copies returns how many brokers have all messages of the partition that has the fewest copies, among those of the
// topics whose name begins with prefix.
func (d *KafkaCluster) Copies(ctx context.Context, prefix string) (fewest int, err error) {
	topics, err := d.topics(ctx)
	if err != nil {
		return 0, err
	}
	for _, topic := range topics {
		for _, p := range topic.Partitions {
			if strings.HasPrefix(topic.Name, prefix) && (fewest == 0 || len(p.Isr) < fewest) {
				fewest = len(p.Isr)
			}
		}
	}
	return fewest, nil
}

// Leader returns the broker that leads a partition.
func (d *KafkaCluster) Leader(ctx context.Context, topic string, partition int) (leader *Server, err error) {
	err = d.each(func(broker *Kafka) error {
		client, done := broker.client()
		defer done()
		metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err != nil {
			return err
		}
		for _, t := range metadata.Topics {
			for _, p := range t.Partitions {
				if p.ID == partition && p.Leader.Host != "" {
					leader = d.brokers[p.Leader.ID-1]
					return nil
				}
			}
		}
		return fmt.Errorf("%s/%d has no leader", topic, partition)
	})
	return leader, err
}

// Controller returns the broker whose controller leads the others.
func (d *KafkaCluster) Controller(ctx context.Context) (controller *Server, err error) {
	err = d.each(func(broker *Kafka) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(broker.addr))
		if err != nil {
			return err
		}
		defer client.Close()
		ask := kmsg.NewPtrDescribeQuorumRequest()
		topic, partition := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
		topic.Topic = "__cluster_metadata"
		topic.Partitions = append(topic.Partitions, partition)
		ask.Topics = append(ask.Topics, topic)
		ctx, cancel := context.WithTimeout(ctx, voteTimeout)
		defer cancel()
		answer, err := ask.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
			return fmt.Errorf("no state of the quorum in the answer, error %d", answer.ErrorCode)
		}
		id := int(answer.Topics[0].Partitions[0].LeaderID)
		if id < 1 || id > len(d.brokers) {
			return errors.New("the controllers have no leader: " + strconv.Itoa(id))
		}
		controller = d.brokers[id-1]
		return nil
	})
	return controller, err
}

// AwaitLeader waits until another broker than old leads a partition, and returns it.
func (d *KafkaCluster) AwaitLeader(
	ctx context.Context, topic string, partition int, old *Server,
) (leader *Server, err error) {
	err = AwaitReady(ctx, "another leader than "+old.Name(), func(ctx context.Context) (err error) {
		if leader, err = d.Leader(ctx, topic, partition); err == nil && leader == old {
			err = fmt.Errorf("%s still leads %s/%d", old.Name(), topic, partition)
		}
		return err
	}, nil)
	return leader, err
}

// each asks one broker after the other until one has an answer.
func (d *KafkaCluster) each(ask func(broker *Kafka) error) error {
	var errs []error
	for _, s := range d.brokers {
		err := ask(s.Kind.(*Kafka))
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("ask %s: %w", s.Name(), err))
	}
	return errors.Join(errs...)
}
