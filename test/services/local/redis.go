package local

import (
	"context"
	"io"
	"net"
	"os/exec"

	"github.com/redis/go-redis/v9"
)

// Redis is a server that keeps nothing on disk.
type Redis struct {
	addr string
	dir  string
}

// RedisAt is a server that somebody else has started.
func RedisAt(addr string) *Redis { return &Redis{addr: addr} }

// Name implements Kind.
func (*Redis) Name() string { return "redis" }

// Addr is where the server listens.
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
	s.addr, s.dir = Loopback(port), dir
	return nil
}

func (s *Redis) command() (*exec.Cmd, error) {
	program, err := lookProgram("redis-server")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return nil, err
	}
	// Not CommandContext: the server is stopped by its process group, with time to end by itself.
	return exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--dir", s.dir,
		"--daemonize", "no", "--save", "", "--appendonly", "no"), nil
}

// Setting implements Kind.
func (s *Redis) Setting() string { return "ADSYNC_TEST_REDIS=" + s.addr }

// Ready implements Kind.
func (s *Redis) Ready(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	defer client.Close()
	return client.Ping(ctx).Err()
}
