// Package embedded runs a Redis inside the process, for a deployment of one process with nothing to install.
//
// It keeps nothing on disk and serves 127.0.0.1 without a password. It is only suitable for a single process.
package embedded

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"adsync/base/clock"
)

// tick is how often keys are aged. The server could age them at each command instead, but scans all keys to do so:
// with 20,000 keys it then ran 65 scripts a second, and 2,500 with a scan per tick. In return a key may expire up to
// one tick early or late.
const tick = 200 * time.Millisecond

// Server is a running embedded Redis.
type Server struct {
	mini *miniredis.Miniredis
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// Start runs a server on a free port of 127.0.0.1. The caller closes it.
func Start() (*Server, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	s := &Server{mini: mini, stop: make(chan struct{}), done: make(chan struct{})}
	go s.age()
	return s, nil
}

// Addr returns the host:port to connect to.
func (s *Server) Addr() string { return s.mini.Addr() }

// Close stops the server, drops its keys and waits until it has ended. It may be called twice.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.stop)
		<-s.done
		s.mini.Close()
	})
}

// age ages the keys.
func (s *Server) age() {
	defer close(s.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := clock.Mark()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			// The elapsed time counts, not the tick: a machine that slept has aged its keys too.
			now := clock.Mark()
			s.mini.FastForward(now.Sub(last))
			last = now
		}
	}
}
