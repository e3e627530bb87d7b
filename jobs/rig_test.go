package jobs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store/jobstore"
	"adsync/base/store/storetest"
)

// handClock is a clock that the test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *handClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const token = "a-token-of-the-shop-0001"

// rig is a server over a real database, without its loops: the test looks itself.
type rig struct {
	*Server

	t     *testing.T
	clock *handClock
	jobs  *httptest.Server
	admin *httptest.Server
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	t.Parallel()
	store := storetest.NewJobs(t)
	c := &handClock{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	require.NoError(t, store.Prepare(t.Context(), c.now))
	_, err := store.AddToken(t.Context(), "shop", secret.NewText(token), "of the tests", jobstore.Roles(), c.now)
	require.NoError(t, err)
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	stores := Stores{poolDefault: store}
	for _, p := range cfg.Pools {
		stores[p.Name] = storetest.NewJobs(t)
		require.NoError(t, stores[p.Name].Prepare(t.Context(), c.now))
	}
	r := &rig{Server: New(cfg, Deps{Stores: stores, Clock: c, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry()}), t: t, clock: c}
	r.jobs, r.admin = httptest.NewServer(r.Handler()), httptest.NewServer(r.adminHandler)
	t.Cleanup(func() {
		for _, p := range r.pools {
			p.queues.desks.close()
		}
		r.jobs.Close()
		r.admin.Close()
		for _, p := range r.pools {
			p.queues.wait()
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// secretText is a password.
var secretText = secret.NewText("a good password")

// api returns what answers the protocol.
func (r *rig) api() *api { return r.pools[poolDefault].api }

// queues returns the default pool's.
func (r *rig) queues() *queues { return r.pools[poolDefault].queues }

// answer is what a request was answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// json decodes the body.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &m), a.body)
	return m
}

// send sends a request to the protocol's address. Headers are "Name: value".
func (r *rig) send(method, path, body string, headers ...string) answer {
	r.t.Helper()
	return r.sendTo(r.jobs, method, path, body, append([]string{"X-Token: " + token}, headers...)...)
}

func (r *rig) sendTo(to *httptest.Server, method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, to.URL+path, bytes.NewReader([]byte(body)))
	require.NoError(r.t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}

// publish publishes a job and returns its id.
func (r *rig) publish(path, body string) string {
	r.t.Helper()
	a := r.send("PUT", path, body)
	require.Equal(r.t, http.StatusCreated, a.status, a.body)
	return a.json(r.t)["job_id"].(string)
}

// lookNow does what the loop does each second.
func (r *rig) lookNow() {
	r.t.Helper()
	require.NoError(r.t, r.pools[poolDefault].look.look(r.t.Context(), time.Time{}, r.clock.Now()))
}

// data returns the body of a consumed job.
func data(t *testing.T, a answer) string {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	raw, err := base64.StdEncoding.DecodeString(a.json(t)["data"].(string))
	require.NoError(t, err)
	return string(raw)
}
