package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverview_ShowsWhatToDo(t *testing.T) {
	t.Parallel()
	stdout, _ := printedFor(t,
		`{"at": "2026-11-21T10:30:02.113Z", "business": "2026-11-21T10:30:02.11Z", "troubles": [{"what": "Redis",
  "why": "it is away"}],
  "media": [{"name": "tulip", "accounts": 15, "pulled": 8, "fresh": 6, "late": 2, "quiet": 1, "parked": 6,
  "oldest_seconds": 2400.4,
    "spend": [{"currency": "CNY", "ours": 38000000000, "theirs": 38300000000}, {"currency": "USD", "ours": 1500000,
  "theirs": null}]}],
  "attention": [{"severity": "bad", "media": "tulip", "title": "The login agency-south must be authorised again",
  "cause": "The platform refuses the refresh token: code 11017.",
    "accounts": 3, "at_least": true, "examples": ["tulip/20000012", "tulip/20000013"], "money": [{"currency": "CNY",
  "micros": 3900000000}], "money_of": "a day is not pulled",
    "since": "2026-11-21T03:17:00Z", "remedy": "The owner of the accounts opens the address.", 
    "command": "adsync bind tulip --app-id 1110000001 --wait"}]}`, "overview")
	require.Equal(t, `As of 2026-11-21T10:30:02Z.
It is incomplete: Redis: it is away

MEDIA  ACCOUNTS  FRESH  LATE  NEW  QUIET  PARKED  OLDEST  SPENT TODAY    PLATFORM SAYS  DIFFERENCE
tulip  15        6      2     0    1      6       40m0s   CNY 38,000.00  38,300.00      -0.78 %
                                                          USD 1.50       unknown        -

BAD  The login agency-south must be authorised again (tulip)
  cause     The platform refuses the refresh token: code 11017.
  accounts  at least 3: tulip/20000012, tulip/20000013 …
  money     CNY 3,900.00 (a day is not pulled)
  since     2026-11-21T03:17:00Z
  remedy    The owner of the accounts opens the address.
  command   adsync bind tulip --app-id 1110000001 --wait
`, stdout)
}

func TestOverview_ShowsWhenNothingIsWrongOrKnown(t *testing.T) {
	t.Parallel()
	stdout, _ := printedFor(t,
		`{"at": "0001-01-01T00:00:00Z", "troubles": [{"what": "data database", "why": "connection refused"}], "media": [],
  "attention": []}`, "overview")
	require.Equal(t,
		"The tables could not be read yet.\nIt is incomplete: data database: connection refused\n\nNothing needs "+
			"attention, as far as is known.\n", stdout)
}

func TestOverview_WaitsForTheFirstPull(t *testing.T) {
	t.Parallel()
	const starting = `{"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": "It is starting.",
  "instance": "urn:adsync:request:1"}`
	var state atomic.Value // The server may still answer a request of a command that has ended.
	state.Store("starting")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch state.Load() {
		case "starting":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(starting))
		case "first pull":
			_, _ = w.Write(
				[]byte(
					`{"at": "2026-11-21T10:30:02Z", "media": [{"name": "tulip", "pulled": 8, "new": 2, "fresh": 6, "first_pull": true,
  "oldest_seconds": -1}]}`))
		default:
			_, _ = w.Write(
				[]byte(
					`{"at": "2026-11-21T10:30:02Z", "media": [{"name": "tulip", "pulled": 8, "fresh": 8, "oldest_seconds": 3}]}`))
		}
	}))
	t.Cleanup(server.Close)
	environ := []string{"ADSYNC_SERVER=" + server.URL}
	r := adsync(environ, "overview", "--wait", "--timeout=2s")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "the figures of today are not whole after 2s: It is starting.")
	state.Store("first pull")
	r = adsync(environ, "overview", "--wait", "--timeout=2s")
	require.Contains(t, r.stderr, "not whole after 2s: the first pull of tulip is under way, 6 of 8 accounts")
	state.Store("whole")
	r = adsync(environ, "overview", "--wait")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "Nothing needs attention.")
}

func TestOverview_WaitsForWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, media := range map[string]string{
		"the producer cannot read its tables yet": `{"at": "0001-01-01T00:00:00Z", "media": [{"name": "tulip",
  "pulled": 8, "oldest_seconds": 3}]}`,
		"no account is pulled yet": `{"at": "2026-11-21T10:30:02Z", "media": [{"name": "tulip",
  "oldest_seconds": -1}]}`,
		"an account of tulip was never pulled today": `{"at": "2026-11-21T10:30:02Z", "media": [{"name": "tulip",
  "pulled": 8, "oldest_seconds": -1}]}`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_,
					_ = w.Write([]byte(media))
			}))
			t.Cleanup(server.Close)
			r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "overview", "--wait", "--timeout=1s")
			require.Equal(t, exitFailure, r.code)
			require.Contains(t, r.stderr, "not whole after 1s: "+want)
		})
	}
}

func TestOverview_FailsAtOnceForAnErrorThatStays(t *testing.T) {
	t.Parallel()
	r := adsync(refusing(t, http.StatusUnauthorized), "overview", "--wait", "--timeout=1s")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "status 401")
	require.NotContains(t, r.stderr, "not whole after")
}

// refusing answers every request with a problem, apart from orders.
func refusing(t *testing.T, status int) (environ []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte(`{"run_id": "7", "task": "a.task"}`))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"title": "x", "status": %d, "detail": "It answers with status %d."}`, status, status)
	}))
	t.Cleanup(server.Close)
	return []string{"ADSYNC_SERVER=" + server.URL}
}
