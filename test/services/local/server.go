package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const (
	// startTimeout bounds how long a server may take until it answers, without the time to install it. A busy machine
	// of two cores needs about 10 s.
	startTimeout = 2 * time.Minute
	// stopGrace is how long a server may take to end on its own; then it is killed.
	stopGrace = 15 * time.Second
)

// Kind is a sort of server: *Kafka, *ZooKeeper, *MariaDB, *Redis, *Postgres, *S3, *SFTP or *FTPS.
type Kind interface {
	Name() string
	// Install makes sure that the programs are installed, and prints to stderr what it fetches.
	Install(ctx context.Context, stderr io.Writer) error
	// Setting returns the variable that gives tests the server's address, as NAME=value.
	Setting() string
	// Ready returns nil when the server can be used.
	Ready(ctx context.Context) error

	// prepare fills dir, which is empty, and chooses the ports.
	prepare(ctx context.Context, dir string, ports *Ports) error
	// command returns the server's command line; port and data are the same at each start.
	command() (*exec.Cmd, error)
}

// Server is a server that this process has started. Its methods are not for concurrent use.
type Server struct {
	Kind
	log     string // the file that holds its output
	process *Process
}

// Launch starts a new server with its data in dir/NAME and its output in dir/logs/NAME.log. It does not wait until the
// server is ready. Stop it in the end, also when it is not ready.
func Launch(ctx context.Context, kind Kind, dir string, ports *Ports) (*Server, error) {
	home, logs := filepath.Join(dir, kind.Name()), filepath.Join(dir, "logs")
	if err := errors.Join(os.MkdirAll(home, 0o755), os.MkdirAll(logs, 0o755)); err != nil {
		return nil, err
	}
	s := &Server{Kind: kind, log: filepath.Join(logs, kind.Name()+".log")}
	if err := kind.prepare(ctx, home, ports); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", kind.Name(), err)
	}
	return s, s.Start()
}

// LaunchAll installs the programs of kinds, launches them side by side, and returns when all can be used, in the
// order of kinds. The servers that it returns run also after an error: stop them.
func LaunchAll(ctx context.Context, dir string, ports *Ports, stderr io.Writer, kinds ...Kind) ([]*Server, error) {
	for _, kind := range kinds {
		if err := kind.Install(ctx, stderr); err != nil {
			return nil, fmt.Errorf("install %s: %w", kind.Name(), err)
		}
	}
	begin := time.Now()
	var servers []*Server
	for _, kind := range kinds {
		server, err := Launch(ctx, kind, dir, ports)
		if err != nil {
			return servers, err
		}
		servers = append(servers, server)
	}
	for _, s := range servers {
		if err := s.Await(ctx); err != nil {
			return servers, err
		}
		fmt.Fprintf(stderr, "services: %s (pid %d) is ready after %.1f s\n", s.Name(), s.PID(), time.Since(begin).Seconds())
	}
	return servers, nil
}

// Start starts the server again, on the same port and data, after Stop or Kill. Its output is appended to its log.
func (s *Server) Start() error {
	cmd, err := s.command()
	if err != nil {
		return err
	}
	s.process, err = StartLogged(s.Name(), s.log, cmd)
	return err
}

// PID is the id of the server's process.
func (s *Server) PID() int { return s.process.PID() }

// Await waits until the server can be used. It fails when the server ends, after two minutes, or with ctx.
func (s *Server) Await(ctx context.Context) error {
	if err := AwaitReady(ctx, s.Name(), s.Ready, s.process.Exited()); err != nil {
		return fmt.Errorf("%w\n%s", err, logTail(s.log))
	}
	return nil
}

// Stop asks the server to end, and kills it when it does not. It returns when the server has ended.
func (s *Server) Stop() error {
	_ = s.process.Continue() // A paused server does not get the signal.
	return s.process.Stop(stopGrace)
}

// Kill ends the server as a lost machine would, and returns when it has ended.
func (s *Server) Kill() error { return s.process.Stop(0) }

// Pause stops the server until Continue: its connections stay open and get no answer.
func (s *Server) Pause() error { return s.process.Pause() }

// Continue ends a pause.
func (s *Server) Continue() error { return s.process.Continue() }

// StopAll stops servers at the same time, and returns when all have ended.
func StopAll(servers []*Server) error { return endAll(servers, (*Server).Stop) }

// KillAll kills servers at the same time, and returns when all have ended.
func KillAll(servers []*Server) error { return endAll(servers, (*Server).Kill) }

func endAll(servers []*Server, end func(*Server) error) error {
	errs := make([]error, len(servers))
	var ends sync.WaitGroup
	for i, s := range servers {
		ends.Go(func() { errs[i] = end(s) })
	}
	ends.Wait()
	return errors.Join(errs...)
}

// AwaitReady calls ready until it returns nil. It fails when the server ends, after two minutes, or with ctx.
func AwaitReady(ctx context.Context, name string, ready func(context.Context) error, exited <-chan struct{}) error {
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
