package local

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// kafkaVersion also stands in kafka.pom.xml. Brokers from 4.1 on are what adsync asks of its users.
const kafkaVersion = "4.1.1"

// kafkaClusterID is 16 bytes in URL-safe base64, as brokers want it. One for all: clusters of two runs never meet.
const kafkaClusterID = "YWRzeW5jLXRlc3QtMDAwMQ"

// kafkaPOM names the jars of a broker for Maven.
//
//go:embed kafka.pom.xml
var kafkaPOM string

// kafkaSettings is a broker and controller in one, of which all internal topics can live on one node.
const kafkaSettings = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=CONTROLLER://%[2]s,%[3]s
advertised.listeners=%[4]s
listener.security.protocol.map=CONTROLLER:PLAINTEXT,%[5]s
log.dirs=%[6]s
auto.create.topics.enable=false
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
`

const kafkaLogging = `status=error
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{1}: %m%n
`

// Kafka is a broker of its own cluster.
type Kafka struct {
	// Listeners are listeners beside the usual one.
	Listeners []*KafkaListener

	addr     string
	jars     string // the folder of the broker's jars
	settings string
	logging  string
}

// KafkaListener is a listener whose clients are sent on to another address: that of a proxy in front of it.
type KafkaListener struct {
	// Advertised is the address that the broker names to clients of this listener.
	Advertised string
	// Addr is where the broker listens. It is set by Launch.
	Addr string
}

// KafkaAt is a broker that somebody else has started.
func KafkaAt(addr string) *Kafka { return &Kafka{addr: addr} }

// Name implements Kind.
func (*Kafka) Name() string { return "kafka" }

// Addr is where the broker listens for clients of the usual listener.
func (s *Kafka) Addr() string { return s.addr }

// Install implements Kind: it puts the jars in the cache. The folder appears under its name only when it is whole, so an interrupted
// fetch is never taken for a finished one.
func (s *Kafka) Install(ctx context.Context, stderr io.Writer) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	s.jars = filepath.Join(cache, "kafka-"+kafkaVersion)
	if err := ensurePrograms(ctx, stderr, []string{"java"}, []string{"default-jre-headless"}); err != nil {
		return err
	}
	if _, err := os.Stat(s.jars); err == nil {
		return nil
	}
	if err := ensurePrograms(ctx, stderr, []string{"mvn"}, []string{"maven"}); err != nil {
		return err
	}
	return withInstallLock(func() error {
		if _, err := os.Stat(s.jars); err == nil {
			return nil
		}
		fmt.Fprintf(stderr, "services: fetching Kafka %s with Maven\n", kafkaVersion)
		work, err := os.MkdirTemp(cache, "fetch-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		pom := filepath.Join(work, "pom.xml")
		if err := os.WriteFile(pom, []byte(kafkaPOM), 0o644); err != nil {
			return err
		}
		jars := filepath.Join(work, "jars")
		if err := runQuietly(ctx, "mvn", "-B", "-q", "-f", pom, "dependency:copy-dependencies",
			"-DoutputDirectory="+jars, "-DincludeScope=runtime"); err != nil {
			return err
		}
		return os.Rename(jars, s.jars)
	})
}

func (s *Kafka) prepare(ctx context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	controllerPort, err := ports.Take()
	if err != nil {
		return err
	}
	s.addr = Loopback(port)
	listeners, advertised, protocols := "PLAINTEXT://"+s.addr, "PLAINTEXT://"+s.addr, "PLAINTEXT:PLAINTEXT"
	for i, l := range s.Listeners {
		if port, err = ports.Take(); err != nil {
			return err
		}
		l.Addr = Loopback(port)
		name := fmt.Sprintf("CLIENT%d", i)
		listeners += "," + name + "://" + l.Addr
		advertised += "," + name + "://" + l.Advertised
		protocols += "," + name + ":PLAINTEXT"
	}
	s.settings = filepath.Join(dir, "server.properties")
	s.logging = filepath.Join(dir, "log4j2.properties")
	content := fmt.Sprintf(kafkaSettings, s.addr, Loopback(controllerPort), listeners, advertised, protocols, filepath.Join(dir, "data"))
	if err := os.WriteFile(s.settings, []byte(content), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(s.logging, []byte(kafkaLogging), 0o644); err != nil {
		return err
	}
	return runQuietly(ctx, "java", s.java("kafka.tools.StorageTool", "format", "-c", s.settings, "-t", kafkaClusterID)...)
}

func (s *Kafka) java(args ...string) []string {
	return append([]string{"-Dlog4j2.configurationFile=" + s.logging, "-cp", filepath.Join(s.jars, "*")}, args...)
}

func (s *Kafka) command() (*exec.Cmd, error) {
	// Not CommandContext: the server is stopped by its process group, with time to end by itself.
	return exec.Command("java", append([]string{"-Xms256m", "-Xmx512m"}, s.java("kafka.Kafka", s.settings)...)...), nil
}

// Setting implements Kind.
func (s *Kafka) Setting() string { return "ADSYNC_TEST_KAFKA=" + s.addr }

// Ready implements Kind. It asks for a group coordinator: the first such question makes the broker create its offsets topic, which
// takes seconds that would else be part of the first test.
func (s *Kafka) Ready(ctx context.Context) error {
	client, done := s.client()
	defer done()
	answer, err := client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{
		Key: "adsync-services-ready", KeyType: kafka.CoordinatorKeyTypeConsumer,
	})
	if err != nil {
		return err
	}
	return answer.Error
}

// client returns a client of the broker and a function that closes its connections.
func (s *Kafka) client() (*kafka.Client, func()) {
	transport := &kafka.Transport{Dial: (&net.Dialer{}).DialContext}
	return &kafka.Client{Addr: kafka.TCP(s.addr), Transport: transport, Timeout: 5 * time.Second}, transport.CloseIdleConnections
}

// Partitions returns how many partitions the topics have whose name begins with prefix.
func (s *Kafka) Partitions(ctx context.Context, prefix string) (map[string]int, error) {
	client, done := s.client()
	defer done()
	metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", err)
	}
	partitions := map[string]int{}
	for _, topic := range metadata.Topics {
		if strings.HasPrefix(topic.Name, prefix) {
			partitions[topic.Name] = len(topic.Partitions)
		}
	}
	return partitions, nil
}

// Write adds a message to a partition of a topic.
func (s *Kafka) Write(ctx context.Context, topic string, partition int, key, value []byte, headers map[string]string) error {
	var list []kafka.Header
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		list = append(list, kafka.Header{Key: name, Value: []byte(headers[name])})
	}
	client, done := s.client()
	defer done()
	answer, err := client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Key: kafka.NewBytes(key), Value: kafka.NewBytes(value), Headers: list}),
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return fmt.Errorf("write to %s/%d: %w", topic, partition, err)
	}
	return nil
}

// DeleteTopics deletes all topics whose name begins with prefix.
func (s *Kafka) DeleteTopics(ctx context.Context, prefix string) error {
	client, done := s.client()
	defer done()
	partitions, err := s.Partitions(ctx, prefix)
	if err != nil || len(partitions) == 0 {
		return err
	}
	answer, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: slices.Sorted(maps.Keys(partitions))})
	if err != nil {
		return fmt.Errorf("delete the topics %s*: %w", prefix, err)
	}
	for topic, err := range answer.Errors {
		if err != nil {
			return fmt.Errorf("delete the topic %s: %w", topic, err)
		}
	}
	return nil
}
