package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

// server is a server that the program needs, with the state that the test sets.
type server struct {
	mu   sync.Mutex
	away error
	hang chan struct{} // until it is closed, ask does not return, also not when its context ends
}

func (s *server) set(away error, hang chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hang = away, hang
}

func (s *server) get() (hang chan struct{}, away error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hang, s.away
}

func (s *server) ask(context.Context) error {
	hang, away := s.get()
	if hang != nil {
		<-hang
	}
	return away
}

// query is a handler's call of the server: it fails like the server, and ends with its context.
func (s *server) query(ctx context.Context) error {
	hang, away := s.get()
	if hang == nil {
		return away
	}
	select {
	case <-hang:
		return away
	case <-ctx.Done():
		return ctx.Err()
	}
}

func setupWith(t *testing.T, needed, extra *server) *bundle {
	t.Helper()
	b := setup(t)
	b.NeedForRequests("data database", needed.ask)
	b.Mention("redis", extra.ask)
	b.Register(Route{"GET", "/api/rows", Viewer, func(c *gin.Context) error {
		if err := needed.query(c.Request.Context()); err != nil {
			return err
		}
		c.String(http.StatusOK, "rows")
		return nil
	}})
	return b
}

func TestReadiness_ACheckThatHangsIsNotWaitedForOrRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hung := &server{hang: make(chan struct{})}
		b := setupWith(t, hung, &server{}).open(t)
		for i, reason := range []string{"no answer within 2s", "no answer for 4s", "no answer for 5s"} {
			began := time.Now()
			w := b.call("GET", "/readyz", "")
			require.LessOrEqual(t, time.Since(began), checkTimeout+checkGrace)
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			require.Contains(t, w.Body.String(), reason, i)
			require.Contains(t, w.Body.String(), `{"name":"redis","ok":true,"optional":true}`)
			require.Equal(t, http.StatusOK, b.call("GET", "/healthz", "").Code)
			require.Equal(t, http.StatusOK, b.call("GET", "/metrics", "").Code)
			time.Sleep(checkAge + 300*time.Millisecond)
		}
		close(hung.hang)
		synctest.Wait()
		require.Equal(t, http.StatusOK, b.call("GET", "/readyz", "").Code, "it is called again after it has returned")
		require.Equal(t, 1, strings.Count(b.log.String(), "readiness check fails"), "one line for all calls")
		require.Equal(t, 1, strings.Count(b.log.String(), "readiness check no longer fails"))
	})
}

func TestReadiness_NeedsNoOptionalServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		extra := &server{away: errors.New("connection refused")}
		b := setupWith(t, &server{}, extra).open(t)
		w := b.call("GET", "/readyz", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.JSONEq(t, `{"ready": true, "phase": "serving", "checks": [{"name": "data database", "ok": true},
			{"name": "redis", "ok": false, "optional": true, "reason": "connection refused"}]}`, w.Body.String())
	})
}

func TestReadiness_ReportsWhatAStartWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupWith(t, &server{away: errors.New("connection refused")}, &server{})
		w := b.call("GET", "/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.JSONEq(t,
			`{"ready": false, "phase": "starting", "checks": [
			{"name": "data database", "ok": false, "reason": "connection refused"},
			{"name": "redis", "ok": true, "optional": true}]}`, w.Body.String())
	})
}

func TestWatch_LogsChangesWithoutACaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		needed := &server{away: errors.New("connection refused")}
		b := setupWith(t, needed, &server{}).open(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.ready.watch(ctx)
		}()
		time.Sleep(time.Minute)
		needed.set(nil, nil)
		time.Sleep(time.Minute)
		stop()
		<-done
		require.Equal(t, 1, strings.Count(b.log.String(), "connection refused"), b.log.String())
		require.Equal(t, 1, strings.Count(b.log.String(), "no longer fails"))
	})
}

func TestHandle_ARequestNamesTheServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		needed := &server{}
		b := setupWith(t, needed, &server{}).open(t)
		require.Equal(t, http.StatusOK, b.call("GET", "/api/rows", "").Code)
		time.Sleep(checkAge)

		needed.set(errors.New("connection refused"), nil)
		w := b.call("GET", "/api/rows", "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Equal(t, "5", w.Header().Get("Retry-After"))
		require.Contains(t, w.Body.String(), "The data database does not answer (connection refused)")
		require.Equal(t, http.StatusOK, b.call("GET", "/api/who", "").Code, "a request that needs no database is served")
		require.NotContains(t, b.log.String(), "request failed", "the check has its line; the requests have none")

		hang := make(chan struct{})
		needed.set(nil, hang)
		time.Sleep(checkAge)
		began := time.Now()
		w = b.call("GET", "/api/rows", "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.LessOrEqual(t, time.Since(began), slowRequest+checkTimeout+checkGrace,
			"the request ends before request_timeout")
		require.Contains(t, w.Body.String(), "no answer within 2s")

		close(hang)
		synctest.Wait()
		needed.set(nil, nil)
		time.Sleep(checkAge)
		require.Equal(t, http.StatusOK, b.call("GET", "/api/rows", "").Code)
	})
}

func TestHandle_OurOwnMistakeIsNotBlamedOnAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupWith(t, &server{}, &server{away: errors.New("connection refused")})
		b.Register(Route{"GET", "/api/bug", Viewer, func(*gin.Context) error { return errors.New("a mistake") }})
		b.open(t)
		require.Equal(t, http.StatusInternalServerError, b.call("GET", "/api/bug", "").Code)
	})
}
