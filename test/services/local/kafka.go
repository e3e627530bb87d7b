package local

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
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

// The releases of Kafka that the rig runs.
const (
	// KafkaDefault is the release of all tests, and of docker-compose.yml.
	KafkaDefault = "4.1.1"
	// KafkaOldest is the oldest release that adsync works with. It needs a ZooKeeper.
	KafkaOldest = "2.4.1"
	// KafkaNewest is the newest release that was tested.
	KafkaNewest = "4.4.0"
)

// kafkaClusterID is 16 bytes in URL-safe base64, as brokers want it. One for all: clusters of two runs never meet.
const kafkaClusterID = "YWRzeW5jLXRlc3QtMDAwMQ"

// quickStart are flags of Java for short runs: a broker needs half the processor time until it is ready.
var quickStart = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// kafkaPOM names the jars of a broker for Maven; kafkaZooKeeperPOM those of one that needs a ZooKeeper, and the
// ZooKeeper's.
var (
	//go:embed kafka.pom.xml
	kafkaPOM string
	//go:embed kafka-zookeeper.pom.xml
	kafkaZooKeeperPOM string
)

// kafkaLogging is for the present log4j, kafkaLogging1 for that of old releases and of ZooKeeper.
const kafkaLogging = `status=error
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{1}: %m%n
`

const kafkaLogging1 = `log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
`

// Kafka is a broker: a cluster alone, or one of the brokers of a KafkaCluster.
type Kafka struct {
	// Version is the release. Empty means KafkaDefault.
	Version string
	// ZooKeeper keeps the cluster's state for an old release. It is launched first. Without one the broker is its own
	// controller.
	ZooKeeper *ZooKeeper
	// Listeners are listeners next to the usual one.
	Listeners []*KafkaListener
	// Settings are lines of the broker's properties, which override ours. The listeners are CLIENT0, CLIENT1 and so on.
	Settings []string

	id          int      // of a broker of a KafkaCluster, from 1 on
	controllers []string // the addresses of a KafkaCluster's controllers, one in each broker
	addr        string
	dir         string
	jars        string // the folder of the broker's jars
}

// KafkaListener is a listener that sends its clients to another address: that of a proxy in front of it.
type KafkaListener struct {
	// Advertised is the address that clients of this listener receive. Empty means Addr.
	Advertised string
	// Addr is the broker's address. It is set by Launch.
	Addr string
}

// KafkaAt returns a broker that was started elsewhere.
func KafkaAt(addr string) *Kafka { return &Kafka{addr: addr} }

// Name implements Kind.
func (s *Kafka) Name() string {
	if s.id > 0 {
		return fmt.Sprintf("kafka-%d", s.id)
	}
	return "kafka"
}

// Addr returns the address of the usual listener.
func (s *Kafka) Addr() string { return s.addr }

// Install implements Kind.
func (s *Kafka) Install(ctx context.Context, stderr io.Writer) (err error) {
	s.jars, err = kafkaJars(ctx, stderr, cmp.Or(s.Version, KafkaDefault))
	return err
}

// kafkaJars puts the jars of a release in the cache and returns their folder. The folder appears under its name only
// when it is whole, so an interrupted fetch is never taken for a finished one.
func kafkaJars(ctx context.Context, stderr io.Writer, version string) (folder string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(cache, "kafka-"+version)
	if err := ensurePrograms(ctx, stderr, []string{"java"}, []string{"default-jre-headless"}); err != nil {
		return "", err
	}
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := ensurePrograms(ctx, stderr, []string{"mvn"}, []string{"maven"}); err != nil {
		return "", err
	}
	content := kafkaPOM
	if version == KafkaOldest {
		content = kafkaZooKeeperPOM
	}
	return folder, withInstallLock(func() error {
		if _, err := os.Stat(folder); err == nil {
			return nil
		}
		fmt.Fprintf(stderr, "services: fetching Kafka %s with Maven\n", version)
		work, err := os.MkdirTemp(cache, "fetch-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		pom := filepath.Join(work, "pom.xml")
		if err := os.WriteFile(pom, []byte(content), 0o644); err != nil {
			return err
		}
		jars := filepath.Join(work, "jars")
		if err := runQuietly(ctx, "mvn", "-B", "-q", "-f", pom, "-Dkafka.version="+version,
			"dependency:copy-dependencies", "-DoutputDirectory="+jars, "-DincludeScope=runtime"); err != nil {
			return err
		}
		return os.Rename(jars, folder)
	})
}

func (s *Kafka) prepare(ctx context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	s.addr, s.dir = Loopback(port), dir
	if s.ZooKeeper == nil && len(s.controllers) == 0 {
		if port, err = ports.Take(); err != nil {
			return err
		}
		s.controllers = []string{Loopback(port)}
	}
	for _, l := range s.Listeners {
		if port, err = ports.Take(); err != nil {
			return err
		}
		l.Addr = Loopback(port)
	}
	if err := s.writeFiles(); err != nil {
		return err
	}
	if s.ZooKeeper != nil {
		return nil
	}
	format := s.java("kafka.tools.StorageTool", "format", "-c", s.settingsFile(), "-t", kafkaClusterID)
	return runQuietly(ctx, "java", append(slices.Clone(quickStart), format...)...)
}

func (s *Kafka) settingsFile() string { return filepath.Join(s.dir, "server.properties") }

func (s *Kafka) loggingFile() string { return filepath.Join(s.dir, "log4j2.properties") }

func (s *Kafka) java(args ...string) []string {
	logging := "-Dlog4j2.configurationFile=" + s.loggingFile()
	if s.ZooKeeper != nil {
		logging = "-Dlog4j.configuration=file:" + s.loggingFile()
	}
	return append([]string{logging, "-cp", filepath.Join(s.jars, "*")}, args...)
}

// writeFiles writes the broker's settings and those of its log.
func (s *Kafka) writeFiles() error {
	id := max(1, s.id)
	listeners, advertised, protocols := "PLAINTEXT://"+s.addr, "PLAINTEXT://"+s.addr, "PLAINTEXT:PLAINTEXT"
	for i, l := range s.Listeners {
		name := fmt.Sprintf("CLIENT%d", i)
		listeners += "," + name + "://" + l.Addr
		advertised += "," + name + "://" + cmp.Or(l.Advertised, l.Addr)
		protocols += "," + name + ":PLAINTEXT"
	}
	logging := kafkaLogging
	var lines []string
	if s.ZooKeeper != nil {
		logging = kafkaLogging1
		lines = append(lines, fmt.Sprintf("broker.id=%d", id), "zookeeper.connect="+s.ZooKeeper.addr,
			"zookeeper.connection.timeout.ms=60000") // It may start next to the ZooKeeper.
	} else {
		voters := make([]string, len(s.controllers))
		for i, addr := range s.controllers {
			voters[i] = fmt.Sprintf("%d@%s", i+1, addr)
		}
		lines = append(lines, "process.roles=broker,controller", fmt.Sprintf("node.id=%d", id),
			"controller.quorum.voters="+strings.Join(voters, ","), "controller.listener.names=CONTROLLER")
		listeners += ",CONTROLLER://" + s.controllers[id-1]
		protocols += ",CONTROLLER:PLAINTEXT"
	}
	// Two of three copies are enough; one broker has the only one.
	copies := max(1, len(s.controllers))
	lines = append(lines,
		"inter.broker.listener.name=PLAINTEXT",
		"listeners="+listeners,
		"advertised.listeners="+advertised,
		"listener.security.protocol.map="+protocols,
		"log.dirs="+filepath.Join(s.dir, "data"),
		"auto.create.topics.enable=false",
		"num.partitions=1",
		fmt.Sprintf("default.replication.factor=%d", copies),
		fmt.Sprintf("min.insync.replicas=%d", max(1, copies-1)),
		fmt.Sprintf("offsets.topic.replication.factor=%d", copies),
		"offsets.topic.num.partitions=5",
		fmt.Sprintf("transaction.state.log.replication.factor=%d", copies),
		fmt.Sprintf("transaction.state.log.min.isr=%d", max(1, copies-1)),
		"group.initial.rebalance.delay.ms=0",
	)
	lines = append(lines, s.Settings...)
	return errors.Join(
		os.WriteFile(s.settingsFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o644),
		os.WriteFile(s.loggingFile(), []byte(logging), 0o644),
	)
}

func (s *Kafka) command() (*exec.Cmd, error) {
	flags := []string{"-Xms256m", "-Xmx512m"}
	if s.id > 0 || s.ZooKeeper != nil {
		flags = append(flags, quickStart...) // Speed is measured on one broker of KafkaDefault.
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return exec.Command("java", append(flags, s.java("kafka.Kafka", s.settingsFile())...)...), nil
}

// Setting implements Kind.
func (s *Kafka) Setting() string { return "ADSYNC_TEST_KAFKA=" + s.addr }

// Ready implements Kind. It asks for a group coordinator: the first such question makes the broker create its
// offsets topic, which takes seconds that would otherwise be part of the first test.
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
	return &kafka.Client{Addr: kafka.TCP(s.addr), Transport: transport, Timeout: 5 * time.Second},
		transport.CloseIdleConnections
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
func (s *Kafka) Write(ctx context.Context, topic string, partition int, key, value []byte,
	headers map[string]string) error {
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
