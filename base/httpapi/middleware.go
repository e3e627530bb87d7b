package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDKey    = "adsync.request_id"
)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// RequestID returns the id of the request, which its log lines have.
func RequestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// identify gives each request an id: the caller's own if it is fit for a log, otherwise a random one.
func identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !requestIDPattern.MatchString(id) {
		raw := make([]byte, 8)
		_, _ = rand.Read(raw) // It never fails.
		id = hex.EncodeToString(raw)
	}
	c.Set(requestIDKey, id)
	c.Header(requestIDHeader, id)
}

type httpMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newHTTPMetrics(r prometheus.Registerer) (*httpMetrics, error) {
	m := &httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adsync_http_requests_total",
			Help: "Answered requests, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "adsync_http_request_duration_seconds",
			Help:    "Duration of requests, by route.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 30},
		}, []string{"route"}),
	}
	return m, errors.Join(r.Register(m.requests), r.Register(m.seconds))
}

// observe logs and counts each request when it is answered.
func observe(logger *slog.Logger, m *httpMetrics) gin.HandlerFunc {
	return func(c *gin.Context) {
		began := clock.Mark()
		defer func() { m.record(logger, c, clock.Since(began)) }() // Deferred, because an aborted answer is a panic.
		c.Next()
	}
}

// record leaves out the query, which may hold secrets, and uses no unknown path as a metric's label: their number has
// no bound.
func (m *httpMetrics) record(logger *slog.Logger, c *gin.Context, took time.Duration) {
	route, status := c.FullPath(), c.Writer.Status()
	level := slog.LevelInfo
	switch route {
	case "":
		route = "none"
	case "/healthz", "/readyz", "/metrics", "/":
		level = slog.LevelDebug // They are called every few seconds.
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
	logger.LogAttrs(c.Request.Context(), level, "request",
		slog.String("method", c.Request.Method),
		slog.String("path", c.Request.URL.Path),
		slog.Int("status", status),
		slog.Duration("took", took),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.String("client", c.ClientIP()),
		slog.String("caller", CallerOf(c).Name),
		slog.String("request_id", RequestID(c)),
	)
}

// recoverPanic answers a request whose handler panicked, and keeps the program running.
func recoverPanic(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v) // net/http drops the connection.
			}
			logger.Error("handler panicked", "panic", v, "path", c.Request.URL.Path, "request_id", RequestID(c), "stack",
				string(debug.Stack()))
			if c.Writer.Written() {
				panic(http.ErrAbortHandler) // The caller must not mistake half an answer for a whole one.
			}
			answer(c, problemOf(context.Background(), errors.New("panic")))
		}()
		c.Next()
	}
}

// sameOrigin refuses requests that a page of another site makes a browser send. Without tokens, a visit of such a page
// could otherwise change something here.
func sameOrigin() gin.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c *gin.Context) {
		if protection.Check(c.Request) != nil {
			answer(c, NewProblem(http.StatusForbidden, "A page of another site sent this request."))
		}
	}
}

// safeHeaders forbids browsers and caches to guess an answer's type or to keep it: it may hold anything from spend to a
// login's name.
func safeHeaders(c *gin.Context) { setSafeHeaders(c.Writer.Header()) }

func setSafeHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// bound limits the size and the time of a request.
func bound(cfg Config) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), cfg.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		defer timeBody(c)()
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, cfg.BodyLimit)
		c.Next()
	}
}
