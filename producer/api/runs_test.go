package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

type fieldError = httpapi.FieldError

func id(n int64) string { return fmt.Sprint(n) }

func decode(t *testing.T, body string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), into), body)
}

// addRun adds a run.
func (b *bench) addRun(r ledger.Run) {
	b.t.Helper()
	settings, err := json.Marshal(r.Settings)
	require.NoError(b.t, err)
	err = b.store.Data.Writer(b.t.Context()).Exec(
		`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind,
  planned_at, state, epoch, total, succeeded, failed, expired, cancelled, superseded, error_text, created_at,
    fanned_out_at, ended_at)
VALUES (?, ?, ?, 'tulip', 'tulip.report_daily', ?, 3, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.TaskID, r.TaskName, cmp.Or(r.Settings.Lane, "normal"), string(settings), r.Kind, sqldb.At(r.PlannedAt),
		string(r.State), r.Total,
		r.Succeeded, r.Failed, r.Expired, r.Cancelled, r.Superseded, r.ErrorText, sqldb.At(r.CreatedAt),
		sqldb.At(r.FannedOutAt), sqldb.At(r.EndedAt)).Error
	require.NoError(b.t, err)
}

func TestRuns_ArePagedFromTheNewest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	states := []task.RunState{task.RunSucceeded, task.RunFailed}
	for i := range 5 {
		b.addRun(ledger.Run{ID: int64(100 + i), TaskID: 1, TaskName: "even", State: states[i%2], PlannedAt: now,
			CreatedAt: now})
	}
	b.addRun(ledger.Run{ID: 50, TaskID: 2, TaskName: "other", State: task.RunRunning, PlannedAt: now, CreatedAt: now})
	list := func(query string) (ids []string, next string) {
		var got struct {
			Runs []struct{ ID string }
			Next string
		}
		decode(t, b.get("/api/v1/runs"+query), &got)
		for _, r := range got.Runs {
			ids = append(ids, r.ID)
		}
		return ids, got.Next
	}
	var seen []string
	pages, after := 0, ""
	for {
		ids, next := list("?limit=2&after=" + after)
		seen = append(seen, ids...)
		pages++
		if after = next; next == "" {
			break
		}
	}
	require.Equal(t, []string{"104", "103", "102", "101", "100", "50"}, seen)
	require.Equal(t, 3, pages, "the last page is full and has no next page")

	tests := []struct {
		query string
		want  []string
	}{
		{"", []string{"104", "103", "102", "101", "100", "50"}},
		{"?task=other", []string{"50"}},
		{"?state=failed", []string{"103", "101"}},
		{"?task=even&state=failed&after=103", []string{"101"}},
		{"?state=failed,succeeded&task=even", []string{"104", "103", "102", "101", "100"}},
		{"?media=system", nil},
		{"?since=2026-11-21T10:30:00Z", nil},
		{"?task=none", nil},
	}
	for _, test := range tests {
		ids, next := list(test.query)
		require.Equal(t, test.want, ids, test.query)
		require.Empty(t, next, test.query)
	}
	require.JSONEq(t, `{"runs": [], "next": ""}`, b.get("/api/v1/runs?task=none"))
}

func TestRuns_AreListedByTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := map[string]string{}
	for minute := range 4 {
		at := now.Add(time.Duration(minute) * time.Minute)
		run := ledger.Run{ID: task.NewRunID(at), TaskID: 1, TaskName: "t", State: task.RunSucceeded, PlannedAt: at,
			CreatedAt: at}
		b.addRun(run)
		names[id(run.ID)] = at.Format("15:04")
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"since=2026-11-21T10:31:00Z&until=2026-11-21T10:33:00Z", []string{"10:32", "10:31"}},
		{"until=2026-11-21T10:31:00Z", []string{"10:30"}},
		{"until=2026-11-21T10:33:00.001Z&limit=1", []string{"10:33", "10:32", "10:31", "10:30"}},
		{"since=2026-11-21T10:34:00Z&until=2026-11-21T10:35:00Z", nil},
	}
	for _, test := range tests {
		var found []string
		for after := ""; ; {
			var page struct {
				Runs []struct{ ID string }
				Next string
			}
			decode(t, b.get("/api/v1/runs?"+test.query+"&after="+after), &page)
			for _, r := range page.Runs {
				found = append(found, names[r.ID])
			}
			if after = page.Next; after == "" {
				break
			}
		}
		require.Equal(t, test.want, found, test.query)
	}
}

func TestRuns_RefuseWrongParameters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tests := []struct {
		query string
		want  []fieldError
	}{
		{"?stat=failed",
			[]fieldError{{Field: "stat",
				Detail: "there is no such parameter: want task, media, state, since, until, under, after, limit"}}},
		{"?media=myspace", []fieldError{{Field: "media", Detail: `"myspace" is refused: want one of system, tulip`}}},
		{"?state=failed,done&after=x&limit=0&since=soon", []fieldError{
			{Field: "state",
				Detail: `"done" is refused: want one of fanning_out, running, succeeded, partial, failed, cancelled, ` +
					`skipped, expired, or several with commas between them`},
			{Field: "since", Detail: `"soon" is refused: want a time such as 2026-11-21T10:30:00Z`},
			{Field: "after", Detail: `"x" is refused: want the value of next in the page before`},
			{Field: "limit", Detail: `"0" is refused: want 1 to 500`},
		}},
		{"?task=%FF", []fieldError{{Field: "task", Detail: "is not text: want UTF-8"}}},
		{"?task=&state=&limit=", []fieldError{
			{Field: "task", Detail: "is empty: want a value, or leave it out"},
			{Field: "state", Detail: "is empty: want a value, or leave it out"},
			{Field: "limit", Detail: "is empty: want a value, or leave it out"},
		}},
		{"?task=a&task=b", []fieldError{{Field: "task", Detail: "is given 2 times: want it once"}}},
		{"?since=2026-11-21T10:30:00Z&until=2026-11-21T10:30:00Z",
			[]fieldError{{Field: "until", Detail: "2026-11-21T10:30:00Z is refused: want a time after that of since"}}},
		{"?limit=501", []fieldError{{Field: "limit", Detail: `"501" is refused: want 1 to 500`}}},
	}
	for _, test := range tests {
		require.Equal(t, test.want, b.refused(http.MethodGet, "/api/v1/runs"+test.query, ""), test.query)
	}
}

func TestRun_ShowsItsProgress(t *testing.T) {
	t.Parallel()
	total := int64(100)
	begun := now.Add(-20 * time.Second)
	running := ledger.Run{
		ID: 900, TaskID: 1, TaskName: "t", Kind: ledger.RunOfOrder, State: task.RunRunning, PlannedAt: begun,
		CreatedAt: begun, FannedOutAt: begun.Add(time.Second),
		Total: &total, Succeeded: 30, Failed: 4, Expired: 3, Cancelled: 2, Superseded: 1, ErrorText: "account 7: no zone",
	}
	running.Settings.Order = &task.Order{Accounts: []int64{1, 2}, From: "2026-11-18", To: "2026-11-20", By: "otto"}
	tests := []struct {
		name   string
		change func(*ledger.Run)
		counts string
		rest   string
	}{
		{"while it runs", func(*ledger.Run) {}, `"total": 100, "waiting": 55, "retrying": 3, "deferred": 2`,
			`"state": "running", "rate_per_second": 2, "estimated_end": "2026-11-21T10:30:30Z",
			  "fanned_out_at": "2026-11-21T10:29:41Z"`},
		{"while it is fanned out", func(r *ledger.Run) {
			r.State, r.Total, r.FannedOutAt = task.RunFanningOut, nil,
				time.Time{}
		},
			`"total": null, "retrying": 3, "deferred": 2`, `"state": "fanning_out", "rate_per_second": 2`},
		{"when it has ended", func(r *ledger.Run) {
			r.State, r.EndedAt, r.Succeeded = task.RunPartial, begun.Add(10*time.Second), 90
		}, `"total": 100, "waiting": 0, "retrying": 0, "deferred": 0`,
			`"state": "partial", "rate_per_second": 10, "fanned_out_at": "2026-11-21T10:29:41Z",
			  "ended_at": "2026-11-21T10:29:50Z"`},
		{"if the clock does not advance", func(r *ledger.Run) { r.CreatedAt = now },
			`"total": 100, "waiting": 55, "retrying": 3, "deferred": 2`,
			`"state": "running", "fanned_out_at": "2026-11-21T10:29:41Z"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			run := running
			test.change(&run)
			b.addRun(run)
			for i, state := range []string{"retrying", "retrying", "retrying", "deferred", "deferred", "sent"} {
				if !run.State.Open() {
					break
				}
				err := b.store.Data.Writer(t.Context()).Exec(
					"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt)"+
						" VALUES (900, ?, 'p', ?, 'tulip', 'normal', ?, 1, 1)", i, state, sqldb.At(now)).Error
				require.NoError(t, err)
			}
			created, succeeded := run.CreatedAt.Format(time.RFC3339), run.Succeeded
			require.JSONEq(t,
				`{"id": "900", "task_id": "1", "task": "t", "task_revision": 3, "media": "tulip", "handler": "tulip.report_daily",
			  "lane": "normal", "kind": "order", "order": {"accounts": 2, "from": "2026-11-18", "to": "2026-11-20",
			    "by": "otto"},
			  "error": "account 7: no zone", "planned_at": "2026-11-21T10:29:40Z", "created_at": "`+created+`",
			  "counts": {"succeeded": `+id(succeeded)+`, "failed": 4, "expired": 3, "cancelled": 2, "superseded": 1, `+
					test.counts+`}, `+test.rest+`}`,
				b.get("/api/v1/runs/900"))
		})
	}
}

func TestRun_UnknownIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, []fieldError{{Field: "x", Detail: "this route takes no parameters"}},
		b.refused(http.MethodGet, "/api/v1/runs/1?x=1", ""))
	for _, name := range []string{"900", "0", "-1", "x", "9223372036854775808"} {
		w := b.call(http.MethodGet, "/api/v1/runs/"+name, "", viewerToken)
		require.Equal(t, http.StatusNotFound, w.Code, name)
		require.Equal(t, `There is no run "`+name+`": want the id of one in the list of runs.`, b.problem(w).Detail)
	}
}
