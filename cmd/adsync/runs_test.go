package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A followed run is first ordered and not made yet. Then the producer is away. In the end a part was not done.
func TestTasksRun_WaitsForTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"id": "7", "task_id": "1", "kind": "order", "state": "pending"}`,
		"",
		`{"id": "7", "task": "a.task", "kind": "order", "state": "running", "counts": {"total": 3, "succeeded": 1,
  "failed": 1}, "estimated_end": "2026-11-21T10:30:26Z"}`,
		`{"id": "7", "task": "a.task", "kind": "order", "state": "partial", "counts": {"total": 3, "succeeded": 1,
  "failed": 1, "cancelled": 1}, "error": "cancelled by otto: \u001b[2J"}`,
	}
	for _, output := range []string{"table", "json"} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					_, _ = w.Write([]byte(`{"run_id": "7", "task": "a.task"}`))
					return
				}
				answer := answers[asked]
				asked++
				if answer == "" {
					w.WriteHeader(http.StatusServiceUnavailable)
					answer = `{"detail": "The program is starting or stopping."}`
				}
				_, _ = w.Write([]byte(answer))
			}))
			t.Cleanup(server.Close)
			r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "tasks", "run", "a.task", "--all", "--wait", "--output", output)
			require.Equal(t, exitFailure, r.code)
			require.Equal(t, len(answers), asked)
			require.Equal(t, "The program is starting or stopping. (It is retried for 2m0s.)\n"+
				"adsync: the run 7 has ended as partial, and 2 of its 3 subtasks were not done: cancelled by otto:  [2J\n",
				r.stderr)
			if output == "json" {
				require.JSONEq(t, answers[3], r.stdout)
				return
			}
			require.Contains(t, r.stdout,
				"Ordered run 7 of a.task.\nIt is ordered, and not made yet.\n2 of 3 subtasks have ended, 1 was not done, the "+
					"rest by about 2026-11-21T10:30:26Z.\nrun ")
			require.Contains(t, r.stdout, "adsync runs rerun 7\n")
		})
	}
}

func TestRuns_AreATableForPeople(t *testing.T) {
	t.Parallel()
	stdout, asked := printedFor(t, `{"next": "5", "runs": [
  {"id": "9", "task": "a.task", "kind": "tick", "state": "running", "planned_at": "2026-11-21T10:30:00Z",
  "counts": {"total": null, "succeeded": 2}},
  {"id": "8", "task": "a.task", "kind": "order", "state": "partial", "planned_at": "2026-11-21T10:28:00.5Z",
  "ended_at": "2026-11-21T10:29:00Z",
    "order": {"accounts": 2, "from": "2026-11-18", "to": "2026-11-20", "confirm": true, "by": "otto"},
  "counts": {"total": 9, "succeeded": 4, "superseded": 1, "failed": 2, "expired": 1, "cancelled": 1}},
  {"id": "7", "task": "a.task", "kind": "order", "state": "failed", "planned_at": "2026-11-21T10:27:00Z",
  "origin_run_id": "5", "error": "no accounts",
    "order": {"accounts": 0, "redrive": true, "spare": true, "by": "vera"}, "counts": {"total": 0}},
  {"id": "6", "task": "a.task", "kind": "tick", "state": "skipped", "planned_at": "2026-11-21T10:26:00Z",
  "error": "the run before is open", "counts": {"total": 0}}]}`,
		"runs", "list", "--task=a.task", "--state=x,y", "--media=tulip", "--since=2026-11-21T09:30:00Z",
		"--until=2026-11-21T10:00:00Z", "--limit=4")
	require.Equal(t, "/api/v1/runs?limit=4&media=tulip&since=2026-11-21T09%3A30%3A00Z&state=x%2Cy&task=a.task"+
		"&until=2026-11-21T10%3A00%3A00Z", asked)
	require.Equal(t, `RUN  TASK    KIND   STATE    PLANNED               ENDED                 SUBTASKS  DONE  FAILED  NOTE
9    a.task  tick   running  2026-11-21T10:30:00Z  -                     …         2     0       -
8    a.task  order  partial  2026-11-21T10:28:00Z  2026-11-21T10:29:00Z  9         5     4       `+
		`2 accounts, 2026-11-18 to 2026-11-20, confirmed, by otto
7    a.task  order  failed   2026-11-21T10:27:00Z  -                     0         0     0       `+
		`what failed in run 5, with spare calls, by vera; no accounts
6    a.task  tick   skipped  2026-11-21T10:26:00Z  -                     0         0     0       the run before is open
There are more: raise --limit, or choose by --task, --state …
`, stdout)
	for _, args := range [][]string{{"runs", "list", "--task="}, {"runs", "list", "--since="},
		{"dead", "list", "--media="}, {"coverage", "tulip/1", "--from="}, {"resume", "5", "--by="},
		{"log-level", "debug", "--role="}} {
		flag := args[len(args)-1]
		r := adsync([]string{"ADSYNC_SERVER=http://127.0.0.1:1"}, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, flag[:len(flag)-1]+" is empty: want a value, or leave it out")
	}
	stdout, _ = printedFor(t,
		`{"id": "9", "task": "a.task", "kind": "tick", "state": "running", "handler": "tulip.report_daily",
  "lane": "important", "planned_at": "2026-11-21T10:30:00Z", "created_at": "2026-11-21T10:30:00.041Z",
  "counts": {"total": 8000, "succeeded": 5981, "failed": 2, "superseded": 1, "waiting": 1987, "retrying": 9,
  "deferred": 20}, "rate_per_second": 299.2, "estimated_end": "2026-11-21T10:30:26Z"}`, "runs", "show", "9")
	require.Equal(t, `run            9
task           a.task
state          running
kind           tick
handler        tulip.report_daily, lane important
planned        2026-11-21T10:30:00Z
made           2026-11-21T10:30:00Z
fanned out     -
ended          -
subtasks       8000
  waiting      1987
  retrying     9
  deferred     20
  succeeded    5981
  superseded   1
  failed       2
rate           299.2 subtasks a second
estimated end  2026-11-21T10:30:26Z

To see what failed: adsync dead list --run 9
To redrive it: adsync runs rerun 9
`, stdout)
}

func TestRunsShow_FailsIfTheRunCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"runs", "show", "7", "--watch"}, {"tasks", "run", "a.task", "--all", "--wait"}} {
		for _, output := range []string{"table", "json"} {
			r := adsync(refusing(t, http.StatusNotFound), append(args, "--output", output)...)
			require.Equal(t, exitFailure, r.code, args)
			require.Contains(t, r.stderr, "It answers with status 404.")
		}
	}
}
