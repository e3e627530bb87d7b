package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/service"
)

const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	headerBytesMax    = 64 << 10
	closeTimeout      = 2 * time.Second
)

// Server is the role jobs: it answers the protocol on its two addresses.
type Server struct {
	cfg    Config
	logger *slog.Logger
	pools  map[string]*pool
	// What the two addresses serve.
	handler, adminHandler http.Handler

	addr, adminAddr string

	cancel   context.CancelFunc
	stopOnce sync.Once
	servers  []*http.Server
	served   sync.WaitGroup
	failed   chan error
}

var (
	_ service.Service = (*Server)(nil)
	_ service.Failing = (*Server)(nil)
)

// Deps are what a server works with.
type Deps struct {
	Stores Stores
	Clock  clock.Clock // that of the default database
	// Redis announces ready jobs to other processes; nil for a process alone. It need not be reached.
	Redis goredis.UniversalClient
	Keys  redis.Keys
	// Node names this process.
	Node       string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// New returns a server. It contacts nothing before Start.
func New(cfg Config, d Deps) *Server {
	cfg.Listen = cmp.Or(cfg.Listen, ListenDefault)
	s := &Server{cfg: cfg, logger: d.Logger, pools: map[string]*pool{}, cancel: func() {}, failed: make(chan error, 2)}
	var metrics prometheus.Gatherers
	for _, name := range slices.Sorted(maps.Keys(d.Stores)) {
		p := newPool(name, cfg, d)
		s.pools[name] = p
		metrics = append(metrics, p.queues.counts.lmstfy.registry)
	}
	for _, p := range s.pools {
		a := &admin{api: p.api, pools: slices.Sorted(maps.Keys(s.pools)), metrics: metrics, user: cfg.AdminUser,
			password: cfg.AdminPassword}
		p.adminHandler = a.handler()
	}
	s.handler = byPool(s.pools, poolOfToken, func(p *pool) http.Handler { return p.handler })
	s.adminHandler = byPool(s.pools, poolOfAdmin, func(p *pool) http.Handler { return p.adminHandler })
	return s
}

// Handler returns the handler of the protocol, for calls without a network.
func (s *Server) Handler() http.Handler { return s.handler }

// Addr returns the address of the protocol, as host:port; empty before Start.
func (s *Server) Addr() string { return s.addr }

// AdminAddr returns the address of the admin port, as host:port; empty before Start.
func (s *Server) AdminAddr() string { return s.adminAddr }

// Start prepares the tables, listens and serves until Stop.
func (s *Server) Start(ctx context.Context) error {
	err := s.start(ctx)
	if err != nil {
		s.Stop() //nolint:contextcheck // The end of ctx must not end what it waits for.
	}
	return err
}

func (s *Server) start(ctx context.Context) error {
	for name, p := range s.pools {
		if err := p.look.Start(ctx); err != nil {
			return fmt.Errorf("prepare the tables of jobs, pool %s: %w", name, err)
		}
		if p.queues.wake == nil {
			continue
		}
		if err := p.queues.wake.Start(ctx); err != nil {
			return err
		}
	}
	// The server outlives the start, which ctx bounds.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	var err error
	if s.addr, err = s.serve(base, "jobs", s.cfg.Listen, s.handler); err != nil {
		return fmt.Errorf("%w (choose another address with jobs.listen)", err)
	}
	if s.adminAddr, err = s.serve(base, "tokens of jobs", s.cfg.AdminListen, s.adminHandler); err != nil {
		return fmt.Errorf("%w (choose another address with jobs.admin_listen)", err)
	}
	return nil
}

// serve answers on an address. Requests may take as long as they ask for: there is no timeout for their answers.
func (s *Server) serve(ctx context.Context, name, address string, handler http.Handler) (string, error) {
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for %s: %w", name, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerBytesMax, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug)}
	s.servers = append(s.servers, server)
	s.served.Go(func() {
		if err := server.Serve(opened); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve %s: %w", name, err)
		}
	})
	s.logger.Info("listening", "for", name, "addr", opened.Addr().String())
	return opened.Addr().String(), nil
}

// Stop ends the polls, which answer that there is no job, waits up to closeTimeout for the other requests, and ends
// what is left.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		for _, p := range s.pools {
			p.queues.desks.close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		for _, server := range s.servers {
			if err := server.Shutdown(ctx); err != nil {
				s.cancel()
				_ = server.Close()
			}
		}
		s.cancel()
		s.served.Wait()
		for _, p := range s.pools {
			p.queues.wait()
			p.look.Stop()
			if p.queues.wake != nil {
				p.queues.wake.Stop()
			}
		}
	})
}

// Failed returns a channel with the error of a listener that can no longer accept.
func (s *Server) Failed() <-chan error { return s.failed }
