package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/engine"
)

// world is the process with the simulated platforms.
type world struct {
	process *process
	address string
	now     time.Time // the time of its stopped clock
	// platforms are those that it simulates.
	platforms []string
}

// zone is the time zone of all simulated accounts, so that a test waits for one midnight.
var zone = time.FixedZone("UTC+8", 8*60*60)

// newWorld starts a world whose clock is stopped, of some platforms or of all.
func newWorld(t *testing.T, accounts int, seed int64, platforms ...string) *world {
	t.Helper()
	awaitEarlyEnough(t)
	if len(platforms) == 0 {
		platforms = engine.PlatformNames()
	}
	p := startProcess(t, "simulate", "--listen=127.0.0.1:0", "--accounts", strconv.Itoa(accounts), "--seed",
		strconv.FormatInt(seed, 10), "--usd=0", "--media", strings.Join(platforms, ","))
	w := &world{process: p, address: "http://" + p.await(t, "simulated platforms are served")["addr"].(string),
		platforms: platforms}
	var clock struct {
		Now time.Time `json:"now"`
	}
	w.order(t, "clock", map[string]any{"frozen": true}, &clock)
	w.now = clock.Now
	// The limits are higher than as shipped: a large account's creatives are hundreds of calls to one endpoint.
	status, body := call(t, http.MethodGet, w.address+"/_sim/limits", nil)
	require.Equal(t, http.StatusOK, status, string(body))
	var shipped struct {
		Rules []map[string]any `json:"rules"`
	}
	require.NoError(t, json.Unmarshal(body, &shipped))
	require.NotEmpty(t, shipped.Rules)
	var looser []map[string]any
	for _, rule := range shipped.Rules {
		calls, ok := map[any]float64{"account": 50, "app": 100}[rule["scope"]]
		if ok && rule["period_seconds"] == 1.0 {
			rule["limit"] = max(rule["limit"].(float64), calls)
			looser = append(looser, rule)
		}
	}
	w.order(t, "limits", map[string]any{"rules": looser}, nil)
	return w
}

// awaitEarlyEnough waits until the accounts' day does not end within the test: the deployment uses the database's
// time, which would otherwise pass the end of the world's day.
func awaitEarlyEnough(t *testing.T) {
	t.Helper()
	now := time.Now().In(zone)
	y, m, d := now.Date()
	left := time.Date(y, m, d+1, 0, 0, 1, 0, zone).Sub(now)
	if left > 2*patience {
		return
	}
	t.Logf("waiting %s for the next day", left)
	select {
	case <-t.Context().Done():
	case <-time.After(left):
	}
}

// order posts to the control API and reads its answer into the value, unless that is nil.
func (w *world) order(t *testing.T, path string, order, into any) {
	t.Helper()
	status, body := call(t, http.MethodPost, w.address+"/_sim/"+path, order)
	require.Less(t, status, 300, "%s: %s", path, body)
	if into != nil {
		require.NoError(t, json.Unmarshal(body, into))
	}
}

// slowDown makes every call take some time, so that a test can act in the middle of a run.
func (w *world) slowDown(t *testing.T, by time.Duration) {
	t.Helper()
	w.order(t, "faults", map[string]any{"kind": "latency", "ms": by.Milliseconds()}, nil)
}

// calls returns how many calls the platforms received in all, and how many of them they refused for being over a
// limit.
func (w *world) calls(t *testing.T) (calls, refused int64) {
	t.Helper()
	status, body := call(t, http.MethodGet, w.address+"/_sim/ledger", nil)
	require.Equal(t, http.StatusOK, status)
	var ledger struct {
		Totals struct {
			Calls   int64 `json:"calls"`
			Refused int64 `json:"refused_limit"`
		} `json:"totals"`
	}
	require.NoError(t, json.Unmarshal(body, &ledger))
	return ledger.Totals.Calls, ledger.Totals.Refused
}

// call sends a request with a JSON body, none if it is nil, and returns the answer.
func call(t *testing.T, method, url string, body any) (status int, answer []byte) {
	t.Helper()
	status, answer, err := tryCall(t.Context(), method, url, body)
	require.NoError(t, err)
	return status, answer
}

func tryCall(ctx context.Context, method, url string, body any) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}
