package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stopGrace is how long a server may take to end by itself. Its data is thrown away, so a kill after it harms nothing.
const stopGrace = 15 * time.Second

// server is one of the services as a process of this machine.
type server interface {
	// install makes sure that the programs are there.
	install(ctx context.Context, stderr io.Writer) error
	// launch prepares dir, which is empty, and starts the server with its output in the file log.
	launch(ctx context.Context, dir, log string, ports *portPool) (*process, error)
	// setting is the variable that tells tests where the server is, as NAME=value.
	setting() string
	// ready is nil once the server can be used.
	ready(ctx context.Context) error
}

func newServer(name string) server {
	switch name {
	case "kafka":
		return &kafkaServer{}
	case "mariadb":
		return &mariadbServer{}
	default:
		return &redisServer{}
	}
}

// startLocal starts the servers as processes of this machine. The returned function stops what was started, also after an
// error.
func startLocal(ctx context.Context, names []string, dir string, ports *portPool, stderr io.Writer) (
	env []string, stopAll func(), err error,
) {
	var started []*process
	stopAll = func() {
		var wg sync.WaitGroup
		for _, p := range started {
			wg.Go(func() { p.stop(stopGrace) })
		}
		wg.Wait()
	}
	servers := make([]server, len(names))
	for i, name := range names {
		servers[i] = newServer(name)
		if err := servers[i].install(ctx, stderr); err != nil {
			return nil, stopAll, fmt.Errorf("install %s: %w", name, err)
		}
	}
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, stopAll, err
	}
	begin := time.Now()
	for i, name := range names {
		home := filepath.Join(dir, name)
		if err := os.MkdirAll(home, 0o755); err != nil {
			return nil, stopAll, err
		}
		p, err := servers[i].launch(ctx, home, filepath.Join(logs, name+".log"), ports)
		if err != nil {
			return nil, stopAll, fmt.Errorf("start %s: %w", name, err)
		}
		started = append(started, p)
	}
	for i, p := range started {
		if err := awaitReady(ctx, names[i], servers[i].ready, p.exited); err != nil {
			return nil, stopAll, fmt.Errorf("%w\n%s", err, logTail(p.log))
		}
		fmt.Fprintf(stderr, "services: %s (pid %d) is ready after %.1f s\n", names[i], p.cmd.Process.Pid,
			time.Since(begin).Seconds())
		env = append(env, servers[i].setting())
	}
	return env, stopAll, nil
}

// awaitReady asks until ready has no complaint. It gives up when the server ends, at the timeout, or with ctx.
func awaitReady(ctx context.Context, name string, ready func(context.Context) error, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		try, cancelTry := context.WithTimeout(ctx, 5*time.Second)
		err := ready(try)
		cancelTry()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-exited:
			return fmt.Errorf("%s ended before it was ready", name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (last answer: %w)", name, ctx.Err(), err)
		}
	}
}

// logTail returns the last lines of a log, for an error message.
func logTail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	const limit = 2000
	return string(content[max(0, len(content)-limit):])
}
