// Package httpapi is the program's HTTP server: it serves the routes that other packages register, and answers
// /healthz, /readyz, /metrics and /version itself. If api.metrics_listen is set, /metrics also has a listener that
// needs no token.
//
// Every error is answered in the form of RFC 9457. Callers are identified by bearer tokens with roles.
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
	// writeGrace is the extra time in which the answer of a request must be sent.
	writeGrace     = 10 * time.Second
	headerBytesMax = 64 << 10
	closeTimeout   = 2 * time.Second
)

// HandlerFunc answers a request. An error that is a *Problem is sent unchanged. Any other error is logged, and sent as
// an internal error without its text. Work must use c.Request.Context(), not c, which is reused after the answer.
type HandlerFunc func(c *gin.Context) error

// Route is one path of the API.
type Route struct {
	Method  string
	Path    string // in gin's form, such as "/api/v1/runs/:id"
	Role    Role   // the least role that may call it
	Handler HandlerFunc
}

// Server serves the API. Add it as the first part of the program, so that it answers health while the others start and
// stop. Add its Gate as the last part, so that the API is open only while all of them work.
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
	// The default prints each route and a warning to standard output, which is for the program's own output.
	gin.SetMode(gin.ReleaseMode)
}

// New makes a server with the routes that every process has. It adds its metrics to the registry, which /metrics shows
// to viewers.
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
	// By default gin trusts the proxy headers of every caller.
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
		answer(c, NewProblem(http.StatusMethodNotAllowed, "%s does not take %s: the Allow header lists its methods.",
			c.Request.URL.Path, c.Request.Method))
	})
	s.engine.GET("/healthz", s.guard.requireHost, func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	s.engine.GET("/readyz", s.guard.requireHost, ready.handle)
	s.engine.GET("/version", s.guard.requireHost, func(c *gin.Context) { c.JSON(http.StatusOK, telemetry.ReadBuild()) })
	s.registerMetrics(registry)
	return s, nil
}

// Register adds routes. It must not be called after Start. It panics on a route without a role, like gin on a path that
// is taken: both are mistakes of the program that the first test shows.
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

// Mount passes every request below a path to another handler unchanged if its caller has the role. Standalone mounts
// its simulator with it. It must not be called after Start.
func (s *Server) Mount(path string, role Role, handler http.Handler) {
	s.engine.Any(path+"/*below", s.guard.require(role), gin.WrapH(handler))
}

// ShareSessions returns the part that shares ended sessions with other processes: a log-out in one process ends the
// session in all. Start it before the Gate. It must not be called after Start.
func (s *Server) ShareSessions(with SessionStore) service.Service {
	s.ended.store = with
	return s.ended
}

// Check adds a part of this program to the conditions of readiness. It is checked from the start of the Gate on. Check,
// Need, NeedForRequests and Mention must not be called after Start.
func (s *Server) Check(name string, ask CheckFunc) { s.ready.add(name, part, ask) }

// Need adds a server that this program needs to the conditions of readiness. It is checked from the first start on, so
// that /readyz shows what the start waits for.
func (s *Server) Need(name string, ask CheckFunc) { s.ready.add(name, dependency, ask) }

// NeedForRequests is Need for a server that requests use: those that fail while it does not answer get 503 and its
// reason.
func (s *Server) NeedForRequests(name string, ask CheckFunc) { s.ready.add(name, requested, ask) }

// Mention shows on /readyz whether a server answers, and does not make it a condition of readiness.
func (s *Server) Mention(name string, ask CheckFunc) { s.ready.add(name, optional, ask) }

// Gate returns the part that opens the API when it starts. When it stops, /readyz answers 503, then the API closes, and
// Stop waits for the requests under way.
func (s *Server) Gate() service.Service { return s.gate }

// Handler returns the server's handler, for calls without a network.
func (s *Server) Handler() http.Handler { return s.engine }

// Addr returns the address of the API, as host:port; empty before Start.
func (s *Server) Addr() string { return s.addr }

// MetricsAddr returns the address of the listener for metrics alone, as host:port; empty before Start, and without
// api.metrics_listen.
func (s *Server) MetricsAddr() string { return s.metricsAddr }

// slowRequest is the time after which the server checks whether a request waits for a server that does not answer.
const slowRequest = 2 * time.Second

func (s *Server) handle(h HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithCancelCause(c.Request.Context())
		defer cancel(nil)
		c.Request = c.Request.WithContext(ctx)
		watch := time.AfterFunc(slowRequest, func() { s.endIfUnavailable(ctx, cancel) })
		defer watch.Stop()
		err := h(c)
		if err == nil {
			return
		}
		p := s.problemOf(ctx, err)
		s.logger.DebugContext(ctx, "request ended with an error", "route", c.FullPath(), "request_id", RequestID(c),
			"status", p.Status, "err", err)
		s.logFailure(c, p, err)
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // The caller must not mistake half an answer for a whole one.
		}
		if p.Status == http.StatusServiceUnavailable {
			c.Header("Retry-After", "5")
		}
		answer(c, p)
	}
}

// logFailure logs why a request failed, unless its caller or a failing readiness check is the reason. A failing check
// has its own log line.
func (s *Server) logFailure(c *gin.Context, p *Problem, err error) {
	attrs := []any{"route", c.FullPath(), "request_id", RequestID(c), "err", err}
	if p.Status == http.StatusInternalServerError {
		s.logger.ErrorContext(c.Request.Context(), "request failed", attrs...)
	} else if _, ok := errors.AsType[*UnavailableError](err); ok {
		s.logger.WarnContext(c.Request.Context(), "request failed: a server is unavailable", attrs...)
	}
}

// endIfUnavailable ends a slow request when a server that requests need does not answer: the caller gets the reason
// instead of waiting for request_timeout.
func (s *Server) endIfUnavailable(ctx context.Context, cancel context.CancelCauseFunc) {
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

// problemOf returns the answer to a request whose handler returned err.
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
		return fmt.Errorf("%w (choose another address with --listen or api.listen)", err)
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

// Stop closes the listeners, waits up to closeTimeout for the requests under way, and then ends them.
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

// Failed returns a channel with the error of a listener that can no longer accept.
func (s *Server) Failed() <-chan error { return s.failed }
