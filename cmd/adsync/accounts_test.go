package main

import (
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"adsync/engine"

	"github.com/stretchr/testify/require"
)

// printedFor runs a command against a server that always returns the answer. It returns the output and the requested
// address.
func printedFor(t *testing.T, answer string, args ...string) (stdout, asked string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, args...)
	require.Zero(t, r.code, r.stderr)
	return r.stdout, asked
}

func TestCoverage_IsATableForPeople(t *testing.T) {
	t.Parallel()
	const answer = `{"from": "2026-11-20", "to": "2026-11-21", "coverage": [
  {"report": "adgroup", "level": "adgroup", "state": "complete", "pulled_at": "2026-11-21T10:20:04.11Z", "rows": 212},
  {"report": "report_daily", "level": "account", "day": "2026-11-20", "state": "suspect",
  "pulled_at": "2026-11-21T10:30:01Z", "rows": 1, "note": "it lacks 1 row", "summary_pending": true},
  {"report": "report_daily", "level": "account", "day": "2026-11-21", "state": "never", "rows": 0}]}`
	stdout, asked := printedFor(t, answer, "coverage", "tulip/200 1", "--from", "2026-11-20")
	require.Equal(t, "/api/v1/accounts/tulip/200%201/coverage?from=2026-11-20", asked)
	require.Equal(t, `REPORT        LEVEL    DAY         STATE     ROWS  PULLED                NOTE
adgroup       adgroup  -           complete  212   2026-11-21T10:20:04Z  -
report_daily  account  2026-11-20  suspect   1     2026-11-21T10:30:01Z  it lacks 1 row; the summaries follow
report_daily  account  2026-11-21  never     0     -                     -
`, stdout)
	stdout, _ = printedFor(t, answer, "coverage", "tulip/2001", "--missing")
	require.NotContains(t, stdout, "complete")
	require.Contains(t, stdout, "never")
	stdout, _ = printedFor(t,
		`{"coverage": [{"report": "adgroup", "level": "adgroup", "state": "complete", "rows": 12, "note": "12 of 13",
  "unusable": 3, "unusable_values":
		[{"field": "adgroup_name", "kind": "attribute", "number": 2, "why": "is odd"}, {"field": "adgroup_id", "kind": "key",
  "number": 1, "why": "is odd"}]}]}`, "coverage", "tulip/2001")
	require.Contains(t, stdout, "12 of 13; unusable values: 2 × attribute of adgroup_name, 1 × key of adgroup_id")
	stdout, _ = printedFor(t, `{"from": "2026-11-20", "to": "2026-11-21", "coverage": []}`, "coverage", "tulip/2001",
		"--missing")
	require.Equal(t, "Everything from 2026-11-20 to 2026-11-21 is complete.\n", stdout)
}

func TestChanges_AreATableForPeople(t *testing.T) {
	t.Parallel()
	stdout, asked := printedFor(t, `{"from": "2026-11-15", "to": "2026-11-21", "next": "x", "changes": [
  {"seen_at": "2026-11-21T10:20:04.11Z", "level": "adgroup", "object": "9", "field": "daily_budget",
  "before": "500000", "after": "800000", "changed_at": "2026-11-21T10:05:00Z", "changed_by": "Li"},
  {"seen_at": "2026-11-20T10:20:04.11Z", "level": "adgroup", "object": "9", "field": "@created", "after": "\"new\""}]}`,
		"changes", "tulip/2001", "--object", "9", "--limit", "2")
	require.Equal(t, "/api/v1/accounts/tulip/2001/changes?limit=2&object=9", asked)
	require.Equal(t, `SEEN                  LEVEL    OBJECT  FIELD         BEFORE  AFTER   CHANGED               BY
2026-11-21T10:20:04Z  adgroup  9       daily_budget  500000  800000  2026-11-21T10:05:00Z  Li
2026-11-20T10:20:04Z  adgroup  9       @created      -       "new"   -                     -
There are more.
`, stdout)
	stdout, _ = printedFor(t, `{"from": "2026-11-15", "to": "2026-11-21", "changes": [], "next": ""}`, "changes",
		"tulip/2001")
	require.Equal(t, "No changes are known from 2026-11-15 to 2026-11-21.\n", stdout)
}

func TestAccounts_RefuseAWrongCommandLine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"want MEDIA/ACCOUNT with the platform's id, such as: " + engine.PlatformNames()[0] +
			"/20000001": {"coverage", "tulip"},
		"want MEDIA/ACCOUNT with the platform's id, such as: " + engine.PlatformNames()[0] +
			"/20000001, or the id alone if no other platform has it\n\nFor help": {"changes", "tulip/"},
		`--output is "xml": want table or json`: {"coverage", "tulip/1", "--output", "xml"},
	} {
		r := adsync(nil, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
	}
}

// The commands against a producer.
func TestAccounts_AgainstAProducer(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	environ := serveEnviron(t)
	p := start(t, environ, "serve", "--role=producer")
	server := "http://" + p.await(t, "msg", "listening")["addr"].(string)
	p.await(t, "part", "api")
	for _, command := range []string{"coverage", "changes"} {
		r := adsync(environ, command, platform+"/2001", "--server", server)
		require.Equal(t, exitFailure, r.code, r.stdout)
		require.Contains(t, r.stderr, platform+` has no account "2001" that is known here`)
	}
	p.stop(t, syscall.SIGTERM)
}
