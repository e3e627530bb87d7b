// Package httpapi is the program's HTTP server: it carries the routes that other packages register, and answers
// /healthz, /readyz, /metrics and /version itself. /metrics also has a listener that needs no token, if
// api.metrics_listen is set.
//
// Every error is answered in the form of RFC 9457. Callers are told apart by bearer tokens with roles.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/service"
	"adsync/base/telemetry"
)

const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = time.Minute
	// writeGrace is how much longer than the request itself its answer may take to be sent.
	writeGrace     = 10 * time.Second
	headerBytesMax = 64 << 10
	closeTimeout   = 2 * time.Second
)

// HandlerFunc answers a request. An error that is a *Problem is sent as it is; any other is logged and sent as an
// internal error without its text. Work must use c.Request.Context(), not c, which is reused after the answer.
type HandlerFunc func(c *gin.Context) error

// Route is one path of the API.
type Route struct {
	Method  string
	Path    string // in gin's form, such as "/api/v1/runs/:id"
	Role    Role   // the least role that may call it
	Handler HandlerFunc
}

// Server serves the API. Add it as the first part of the program, so that health is answered while the others start
// and stop, and its Gate as the last, so that the API is open only while all of them work.
type Server struct {
	cfg    Config
	logger *slog.Logger
	engine *gin.Engine
	ready  *readiness
	gate   *gate
	guard  *guard
	tls    *tls.Config // nil without TLS

	metrics  http.Handler
	sessions *sessions // nil without pages
	ended    *endedSessions

	listeners []*listener // none before Start
	stopOnce  sync.Once
	cancel    context.CancelFunc // ends the requests under way
	watching  sync.WaitGroup
	failed    chan error

	addr, metricsAddr string
}

var (
	_ service.Service = (*Server)(nil)
	_ service.Failing = (*Server)(nil)
)

func init() {
	// The default prints each route and a warning to standard output, which belongs to the program's own output.
	gin.SetMode(gin.ReleaseMode)
}

// New makes a server with the routes that every process has. Its metrics go to the registry, which /metrics shows to
// viewers.
func New(cfg Config, registry *prometheus.Registry, logger *slog.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	metrics, err := newHTTPMetrics(registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the HTTP server: %w", err)
	}
	encryption, err := cfg.TLS.load(logger)
	if err != nil {
		return nil, err
	}
	ready := &readiness{phase: starting, log: logger}
	s := &Server{
		cfg:    cfg,
		logger: logger,
		engine: gin.New(),
		ready:  ready,
		gate:   newGate(ready, cfg.ShutdownDelay),
		guard:  newGuard(cfg.Tokens),
		ended:  newEndedSessions(logger),
		tls:    encryption,
		failed: make(chan error, 2), // one for each listener
	}
	// By default gin believes whoever says in a header that they are a proxy.
	if err := s.engine.SetTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trust proxies: %w", err)
	}
	s.engine.HandleMethodNotAllowed = true
	s.engine.RedirectTrailingSlash = false
	s.engine.UseRawPath = true // An escaped slash is part of a name, such as that of an account.
	s.engine.Use(identify, safeHeaders, observe(logger, metrics), recoverPanic(logger), bound(cfg), sameOrigin())
	s.engine.NoRoute(func(c *gin.Context) {
		answer(c, NewProblem(http.StatusNotFound, "There is nothing at %s.", c.Request.URL.Path))
	})
	s.engine.NoMethod(func(c *gin.Context) {
		answer(c, NewProblem(http.StatusMethodNotAllowed, "%s does not take %s: the Allow header says what it takes.",
			c.Request.URL.Path, c.Request.Method))
	})
	s.engine.GET("/healthz", s.guard.addressed, func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	s.engine.GET("/readyz", s.guard.addressed, ready.handle)
	s.engine.GET("/version", s.guard.addressed, func(c *gin.Context) { c.JSON(http.StatusOK, telemetry.ReadBuild()) })
	s.registerMetrics(registry)
	return s, nil
}

// Register adds routes. It must not be called after Start. Like gin with a path that is taken, it panics on a route
// without a role: both are mistakes of the program that the first test shows.
func (s *Server) Register(routes ...Route) {
	for _, r := range routes {
		if r.Role == Anyone {
			s.engine.Handle(r.Method, r.Path, s.gate.handle, s.handle(r.Handler))
			continue
		}
		if r.Role.rank() == 0 {
			panic(fmt.Sprintf("route %s %s has no role", r.Method, r.Path))
		}
		s.engine.Handle(r.Method, r.Path, s.guard.require(r.Role), s.gate.handle, s.handle(r.Handler))
	}
}

// Mount passes every request below a path to another handler as it is, if its caller has the role: for what
// standalone simulates. It must not be called after Start.
func (s *Server) Mount(path string, role Role, handler http.Handler) {
	s.engine.Any(path+"/*below", s.guard.require(role), gin.WrapH(handler))
}

// ShareSessions returns the part that shares with other processes which sessions were ended: those that log out there
// open no page here, and the other way round. Start it before the Gate. It must not be called after Start.
func (s *Server) ShareSessions(with SessionStore) service.Service {
	s.ended.store = with
	return s.ended
}

// Check adds a part of this program to the conditions of readiness. It is asked from the start of the Gate on. Check
// must not be called after Start, nor may the next three.
func (s *Server) Check(name string, ask CheckFunc) { s.ready.add(name, part, ask) }

// Need adds a server that this program needs to the conditions of readiness. It is asked from the first start on, so
// that /readyz tells what is waited for.
func (s *Server) Need(name string, ask CheckFunc) { s.ready.add(name, dependency, ask) }

// NeedForRequests is Need for a server that requests go to: those that fail while it is away are answered with 503 and
// its reason.
func (s *Server) NeedForRequests(name string, ask CheckFunc) { s.ready.add(name, requested, ask) }

// Mention shows on /readyz whether a server answers without which everything goes on.
func (s *Server) Mention(name string, ask CheckFunc) { s.ready.add(name, optional, ask) }

// Gate is the part that opens the API when it starts. When it stops, /readyz answers 503, then the API closes and the
// requests under way are waited for.
func (s *Server) Gate() service.Service { return s.gate }

// Handler answers as the server does, without a network.
func (s *Server) Handler() http.Handler { return s.engine }

// Addr is where the server listens, as host:port; empty before Start.
func (s *Server) Addr() string { return s.addr }

// MetricsAddr is where the server listens for requests of metrics alone; empty before Start, and without
// api.metrics_listen.
func (s *Server) MetricsAddr() string { return s.metricsAddr }

// slowRequest is how long a request may take before the server looks whether what it waits for is away.
const slowRequest = 2 * time.Second

func (s *Server) handle(h HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithCancelCause(c.Request.Context())
		defer cancel(nil)
		c.Request = c.Request.WithContext(ctx)
		watch := time.AfterFunc(slowRequest, func() { s.giveUp(ctx, cancel) })
		defer watch.Stop()
		err := h(c)
		if err == nil {
			return
		}
		p := s.problemOf(ctx, err)
		s.logger.DebugContext(ctx, "a request ends with an error", "route", c.FullPath(), "request_id", RequestID(c),
			"status", p.Status, "err", err)
		s.logFailure(c, p, err)
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // The caller must not take half an answer for a whole one.
		}
		if p.Status == http.StatusServiceUnavailable {
			c.Header("Retry-After", "5")
		}
		answer(c, p)
	}
}

// logFailure logs why a request failed, unless its caller or a check of readiness is the reason: those are logged
// elsewhere.
func (s *Server) logFailure(c *gin.Context, p *Problem, err error) {
	attrs := []any{"route", c.FullPath(), "request_id", RequestID(c), "err", err}
	if p.Status == http.StatusInternalServerError {
		s.logger.ErrorContext(c.Request.Context(), "request failed", attrs...)
	} else if _, ok := errors.AsType[*UnavailableError](err); ok {
		s.logger.WarnContext(c.Request.Context(), "a server that the request needs is unavailable", attrs...)
	}
}

// giveUp ends a request that takes long as soon as a server that it may be waiting for is found to be away: callers are
// told why, instead of waiting for the end of their patience.
func (s *Server) giveUp(ctx context.Context, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if p := s.ready.unavailable(ctx); p != nil {
			cancel(p)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(slowRequest):
		}
	}
}

// problemOf turns a handler's error into what the caller is told.
func (s *Server) problemOf(ctx context.Context, err error) *Problem {
	if cause, ok := errors.AsType[*Problem](context.Cause(ctx)); ok {
		return cause
	}
	p := problemOf(ctx, err)
	_, unavailable := errors.AsType[*UnavailableError](err)
	if unavailable || p.Status == http.StatusInternalServerError {
		if away := s.ready.unavailable(ctx); away != nil {
			return away
		}
	}
	return p
}

// Start listens and serves until Stop.
func (s *Server) Start(ctx context.Context) error {
	api, err := s.listen(ctx, "the API", s.cfg.Listen, s.engine)
	if err != nil {
		return fmt.Errorf("%w (another address: --listen, or api.listen)", err)
	}
	opened := []*listener{api}
	s.addr = api.Addr().String()
	if s.cfg.MetricsListen != "" {
		metrics, err := s.listen(ctx, "metrics", s.cfg.MetricsListen, s.metricsAlone())
		if err != nil {
			_ = api.Close()
			return err
		}
		opened = append(opened, metrics)
		s.metricsAddr = metrics.Addr().String()
	}
	// The server outlives the start, which ctx bounds.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.listeners = opened
	s.watching.Go(func() { s.ready.watch(base) })
	for _, l := range opened {
		s.serve(base, l)
	}
	return nil
}

// Stop closes the listeners and waits for the requests under way, at last by ending them.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.ready.set(stopping)
		if len(s.listeners) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		for _, l := range s.listeners {
			if err := l.http.Shutdown(ctx); err != nil {
				s.cancel()
				_ = l.http.Close()
			}
		}
		s.cancel()
		for _, l := range s.listeners {
			<-l.served
		}
		s.watching.Wait()
	})
}

// Failed gives the error of a server that cannot accept any more.
func (s *Server) Failed() <-chan error { return s.failed }
