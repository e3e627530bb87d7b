package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%[3]s
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

type kafkaServer struct {
	addr string
	jars string // the folder of the broker's jars
}

// install puts the jars in the cache. The folder appears under its name only when it is whole, so an interrupted
// fetch is never taken for a finished one.
func (s *kafkaServer) install(ctx context.Context, stderr io.Writer) error {
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

func (s *kafkaServer) launch(ctx context.Context, dir, log string, ports *portPool) (*process, error) {
	port, err := ports.take()
	if err != nil {
		return nil, err
	}
	controllerPort, err := ports.take()
	if err != nil {
		return nil, err
	}
	s.addr = loopback(port)
	settings := filepath.Join(dir, "server.properties")
	logging := filepath.Join(dir, "log4j2.properties")
	content := fmt.Sprintf(kafkaSettings, s.addr, loopback(controllerPort), filepath.Join(dir, "data"))
	if err := os.WriteFile(settings, []byte(content), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(logging, []byte(kafkaLogging), 0o644); err != nil {
		return nil, err
	}
	java := func(args ...string) []string {
		return append([]string{"-Dlog4j2.configurationFile=" + logging, "-cp", filepath.Join(s.jars, "*")}, args...)
	}
	if err := runQuietly(ctx, "java",
		java("kafka.tools.StorageTool", "format", "-c", settings, "-t", kafkaClusterID)...); err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end by itself.
	return startLogged("kafka", log, exec.Command("java",
		append([]string{"-Xms256m", "-Xmx512m"}, java("kafka.Kafka", settings)...)...))
}

func (s *kafkaServer) setting() string { return "ADSYNC_TEST_KAFKA=" + s.addr }

// ready asks for a group coordinator: the first such question makes the broker create its offsets topic, which
// takes seconds that would else be part of the first test.
func (s *kafkaServer) ready(ctx context.Context) error {
	transport := &kafka.Transport{Dial: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(s.addr), Transport: transport, Timeout: 5 * time.Second}
	answer, err := client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{
		Key: "adsync-services-ready", KeyType: kafka.CoordinatorKeyTypeConsumer,
	})
	if err != nil {
		return err
	}
	return answer.Error
}
