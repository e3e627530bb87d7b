package local

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// ZooKeeper keeps the state of a Kafka that is older than KRaft.
type ZooKeeper struct {
	addr string
	dir  string
	jars string
}

// Name implements Kind.
func (*ZooKeeper) Name() string { return "zookeeper" }

// Addr returns the server's address.
func (s *ZooKeeper) Addr() string { return s.addr }

// Install implements Kind.
func (s *ZooKeeper) Install(ctx context.Context, stderr io.Writer) (err error) {
	s.jars, err = kafkaJars(ctx, stderr, KafkaOldest)
	return err
}

func (s *ZooKeeper) prepare(_ context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	s.addr, s.dir = Loopback(port), dir
	settings := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\n"+
		// Its page for administrators would take port 8080.
		"admin.enableServer=false\n4lw.commands.whitelist=ruok\n", filepath.Join(dir, "data"), port)
	if err := os.WriteFile(filepath.Join(dir, "zookeeper.properties"), []byte(settings), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "log4j.properties"), []byte(kafkaLogging1), 0o644)
}

func (s *ZooKeeper) command() (*exec.Cmd, error) {
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return exec.Command("java", append(slices.Clone(quickStart), "-Xmx256m",
		"-Dlog4j.configuration=file:"+filepath.Join(s.dir, "log4j.properties"), "-cp", filepath.Join(s.jars, "*"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.dir, "zookeeper.properties"))...), nil
}

// Setting implements Kind.
func (s *ZooKeeper) Setting() string { return "ADSYNC_TEST_ZOOKEEPER=" + s.addr }

// Ready implements Kind.
func (s *ZooKeeper) Ready(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	} else {
		_ = connection.SetDeadline(time.Now().Add(time.Second))
	}
	if _, err := io.WriteString(connection, "ruok"); err != nil {
		return err
	}
	answer, err := io.ReadAll(connection)
	if err == nil && string(answer) != "imok" {
		err = fmt.Errorf("ZooKeeper answers %q, want imok", answer)
	}
	return err
}

// OldestKafka is a broker of the oldest release that adsync works with, and the ZooKeeper that it needs.
type OldestKafka struct{ servers []*Server }

// Launch starts both with their data below dir. Stop it in the end, also after an error.
func (d *OldestKafka) Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) (err error) {
	zookeeper := &ZooKeeper{}
	d.servers, err = LaunchAll(ctx, dir, ports, stderr, zookeeper, &Kafka{Version: KafkaOldest, ZooKeeper: zookeeper})
	return err
}

// Await waits until both can be used.
func (d *OldestKafka) Await(ctx context.Context) error {
	for _, s := range d.servers {
		if err := s.Await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends both. The broker would try for long to reach a ZooKeeper that has ended.
func (d *OldestKafka) Stop() error { return KillAll(d.servers) }

// Servers returns the ZooKeeper and the broker.
func (d *OldestKafka) Servers() []*Server { return d.servers }

// Addrs returns where the broker listens.
func (d *OldestKafka) Addrs() []string { return []string{d.servers[1].Kind.(*Kafka).addr} }
