package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

// waiting returns once a number of polls wait for the queue q and have looked at it.
func (r *rig) waiting(n int) {
	r.t.Helper()
	r.await(func(d *desk) bool { return d.known && !d.serving && len(d.polls) == n })
}

// waitingUnknown returns once a number of polls wait for the queue q.
func (r *rig) waitingUnknown(n int) {
	r.t.Helper()
	r.await(func(d *desk) bool { return len(d.polls) == n })
}

func (r *rig) await(state func(*desk) bool) {
	r.t.Helper()
	id := jobstore.Queue{Namespace: "shop", Name: "q"}.ID()
	require.Eventually(r.t, func() bool {
		r.queues().desks.mu.Lock()
		defer r.queues().desks.mu.Unlock()
		d := r.queues().desks.all[id]
		return d != nil && state(d)
	}, 10*time.Second, time.Millisecond)
}

func TestDesks_APublicationWakesOnePoll(t *testing.T) {
	r := newRig(t, nil)
	got := make(chan answer, 2)
	for range 2 {
		go func() { got <- r.send("GET", "/api/shop/other,q?timeout=600", "") }()
	}
	r.waiting(2)
	r.publish("/api/shop/q", "first")
	require.Equal(t, "first", data(t, <-got))
	r.waiting(1)
	r.publish("/api/shop/other", "second")
	require.Equal(t, "second", data(t, <-got))
}

func TestDesks_ALookWakesAPoll(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/q?delay=5", "delayed")
	got := make(chan answer, 1)
	go func() { got <- r.send("GET", "/api/shop/q?timeout=600", "") }()
	r.waiting(1)
	r.lookNow()
	r.clock.add(5 * time.Second)
	r.lookNow()
	require.Equal(t, "delayed", data(t, <-got))
}

func TestDesks_APollEndsWithItsTime(t *testing.T) {
	r := newRig(t, nil)
	a := r.send("GET", "/api/shop/q?timeout=1", "")
	require.Equal(t, http.StatusNotFound, a.status)
	require.JSONEq(t, `{"msg":"no job available"}`, a.body)
}

func TestDesks_ACloseEndsThePolls(t *testing.T) {
	r := newRig(t, nil)
	got := make(chan answer, 1)
	go func() { got <- r.send("GET", "/api/shop/q?timeout=600", "") }()
	r.waiting(1)
	r.queues().desks.close()
	require.Equal(t, http.StatusNotFound, (<-got).status)
}

// Each job is delivered once, and each is delivered.
func TestDesks_ManyPublishersAndConsumers(t *testing.T) {
	r := newRig(t, nil)
	const publishers, each, consumers = 8, 25, 8
	var publishing, consuming sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	done, stop := context.WithCancel(t.Context())
	defer stop()
	queue := jobstore.Queue{Namespace: "shop", Name: "q"}
	for c := range consumers {
		consuming.Go(func() {
			for done.Err() == nil {
				jobs, err := r.queues().desks.consume(done, []jobstore.QueueID{queue.ID()}, 1+c%3, time.Hour, time.Minute)
				if err != nil {
					return
				}
				mu.Lock()
				for _, j := range jobs {
					seen[string(j.Body)]++
				}
				if len(seen) == publishers*each {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	for p := range publishers {
		publishing.Go(func() {
			for i := range each {
				_, err := r.queues().publish(t.Context(), queue, order{tries: 1, ttl: time.Hour, priority: i % 10},
					fmt.Appendf(nil, "%d-%d", p, i))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	publishing.Wait()
	consuming.Wait()
	require.Len(t, seen, publishers*each)
	for body, n := range seen {
		require.Equal(t, 1, n, body)
	}
}

// brokenWriter is a connection that is gone: it takes only the header.
type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// FlushError implements what http.ResponseController looks for.
func (brokenWriter) FlushError() error { return errors.New("broken pipe") }

func TestConsume_AnAnswerThatCannotBeWrittenReturnsTheJob(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/q?tries=1", "x")
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/shop/q", nil)
	req.Header.Set("X-Token", token)
	r.Handler().ServeHTTP(brokenWriter{httptest.NewRecorder()}, req)
	a := r.send("GET", "/api/shop/q", "")
	require.Equal(t, "x", data(t, a), "the try did not count")
}

func TestConsume_AWorkerThatIsGoneBeforeTheAnswerReturnsTheJob(t *testing.T) {
	r := newRig(t, nil)
	r.publish("/api/shop/q?tries=1", "x")
	id := jobstore.Queue{Namespace: "shop", Name: "q"}.ID()
	jobs, err := r.queues().desks.consume(t.Context(), []jobstore.QueueID{id}, 1, time.Minute, 0)
	require.NoError(t, err)
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.Request = httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)
	require.False(t, deliver(c, http.StatusOK, jobAnswer{}))
	r.queues().desks.giveBack(gone, jobs)
	require.Equal(t, "x", data(t, r.send("GET", "/api/shop/q", "")))
}
