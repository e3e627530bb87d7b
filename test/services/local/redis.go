package local

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Redis is a server that keeps nothing on disk.
type Redis struct {
	// Label is its name among several. Empty means "redis".
	Label string
	// Settings are lines added to its configuration file; of two lines with one name the later one holds.
	Settings []string

	sentinel  bool // It watches other servers and holds no data.
	clustered bool // It is a node of a Redis Cluster.
	addr      string
	busPort   int    // of a node of a cluster
	config    string // The file, which Redis itself rewrites when its role changes.
}

// RedisAt returns a server that was started elsewhere.
func RedisAt(addr string) *Redis { return &Redis{addr: addr} }

// Name implements Kind.
func (s *Redis) Name() string { return cmp.Or(s.Label, "redis") }

// Addr returns the server's address.
func (s *Redis) Addr() string { return s.addr }

// Install implements Kind.
func (s *Redis) Install(ctx context.Context, stderr io.Writer) error {
	return ensurePrograms(ctx, stderr, []string{"redis-server"}, []string{"redis-server"})
}

func (s *Redis) prepare(_ context.Context, dir string, ports *Ports) error {
	port, err := ports.Take()
	if err != nil {
		return err
	}
	s.addr = Loopback(port)
	s.config = filepath.Join(dir, "redis.conf")
	lines := []string{"bind 127.0.0.1", fmt.Sprintf("port %d", port), "dir " + dir}
	if !s.sentinel {
		lines = append(lines, `save ""`, "appendonly no")
	}
	if s.clustered {
		// Without this the nodes talk on a port 10,000 above the usual one, which nobody has taken from the pool.
		if s.busPort, err = ports.Take(); err != nil {
			return err
		}
		lines = append(lines, "cluster-enabled yes", fmt.Sprintf("cluster-port %d", s.busPort))
	}
	text := strings.Join(append(lines, s.Settings...), "\n") + "\n"
	return os.WriteFile(s.config, []byte(text), 0o600)
}

func (s *Redis) command() (*exec.Cmd, error) {
	program, err := lookProgram("redis-server")
	if err != nil {
		return nil, err
	}
	args := []string{s.config}
	if s.sentinel {
		args = append(args, "--sentinel")
	}
	// Not CommandContext: the server is stopped by its process group, with time to end on its own.
	return exec.Command(program, args...), nil
}

// Setting implements Kind.
func (s *Redis) Setting() string { return "ADSYNC_TEST_REDIS=" + s.addr }

// Ready implements Kind.
func (s *Redis) Ready(ctx context.Context) error {
	client := s.client()
	defer client.Close()
	return client.Ping(ctx).Err()
}

// silent is the library's logger: each command returns an error too when a server does not answer.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// client returns a client of this server alone.
func (s *Redis) client() *redis.Client { return redis.NewClient(s.options()) }

func (s *Redis) options() *redis.Options {
	return &redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}
}

// replication returns the server's own state about its role and its replicas, by name.
func (s *Redis) replication(ctx context.Context) (map[string]string, error) {
	client := s.client()
	defer client.Close()
	text, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its role: %w", s.Name(), err)
	}
	return fields(text), nil
}

// fields reads lines of the form name:value.
func fields(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}
