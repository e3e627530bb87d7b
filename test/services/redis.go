package main

import (
	"context"
	"io"
	"os/exec"
	"strconv"

	"github.com/redis/go-redis/v9"
)

type redisServer struct{ addr string }

func (s *redisServer) install(ctx context.Context, stderr io.Writer) error {
	return ensurePrograms(ctx, stderr, []string{"redis-server"}, []string{"redis-server"})
}

func (s *redisServer) launch(_ context.Context, dir, log string, ports *portPool) (*process, error) {
	port, err := ports.take()
	if err != nil {
		return nil, err
	}
	program, err := lookProgram("redis-server")
	if err != nil {
		return nil, err
	}
	s.addr = loopback(port)
	// Not CommandContext: the server is stopped by its process group, with time to end by itself.
	return startLogged("redis", log, exec.Command(program,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
		"--daemonize", "no", "--save", "", "--appendonly", "no"))
}

func (s *redisServer) setting() string { return "ADSYNC_TEST_REDIS=" + s.addr }

func (s *redisServer) ready(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	defer client.Close()
	return client.Ping(ctx).Err()
}
