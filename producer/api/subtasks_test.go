package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

const dailyName = "tulip.report_daily.account"

// addWaiting adds a subtask that waits to be sent again to a run.
func (b *bench) addWaiting(runID, account int64, state task.State, waitsFor string, due time.Time) {
	b.t.Helper()
	db := b.store.Data.Writer(b.t.Context())
	require.NoError(b.t, db.Exec("UPDATE run SET total = total + 1, state = 'running', ended_at = NULL WHERE id = ?",
		runID).Error)
	err := db.Exec("INSERT INTO "+ledger.LogTable(runID)+
		" (run_id, account_id, part, state, delivery, attempt, created_at, error_class, error_text) VALUES (?, ?, 'w', ?, "+
		"1, 1, ?, 'transient', 'the platform is busy')",
		runID, account, string(state), sqldb.At(diedAt)).Error
	require.NoError(b.t, err)
	err = db.Exec(
		"INSERT INTO subtask_due (run_id, account_id, part, state, due_at, media, lane, delivery, attempt, reason, "+
			"waits_for) VALUES (?, ?, 'w', ?, ?, 'tulip', 'normal', 1, 1, 'the platform is busy', ?)",
		runID, account, string(state), sqldb.At(due), waitsFor).Error
	require.NoError(b.t, err)
}

type subtasksPage struct {
	Subtasks []struct {
		RunID   string `json:"run_id"`
		Account string
		Part    string
		State   string
		Error   string
	}
	Next string
}

// pages reads all pages of a list of subtasks and returns their parts with their accounts.
func (b *bench) pages(path string) (all []string) {
	b.t.Helper()
	for after := ""; ; {
		var page subtasksPage
		decode(b.t, b.get(path+"&limit=1&after="+after), &page)
		for _, s := range page.Subtasks {
			all = append(all, s.Account+" "+s.Part)
		}
		if after = page.Next; after == "" {
			return all
		}
	}
}

func TestRunSubtasks_AreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	run := b.deadRun(diedAt, 1, dailyName, "code 7: no permission", one)
	b.addWaiting(run, two, task.Retrying, "", diedAt.Add(time.Minute))
	path := "/api/v1/runs/" + id(run) + "/subtasks"
	require.JSONEq(t, `{"subtasks": [
	  {"run_id": "`+id(run)+
		`", "task": "tulip.report_daily.account", "planned_at": "2024-05-06T07:08:09Z", "account_id": "`+id(one)+
		`", "account": "9001", "part": "d",
	   "state": "failed", "delivery": 2, "attempts": 1, "node": "n1", "error_class": "invalid",
	     "error": "code 7: no permission", "created_at": "2024-05-06T07:08:09Z",
	   "started_at": "2024-05-06T07:08:09Z", "ended_at": "2024-05-06T07:08:10Z", "rows": 3, "calls": 4},
	  {"run_id": "`+id(run)+
		`", "task": "tulip.report_daily.account", "planned_at": "2024-05-06T07:08:09Z", "account_id": "`+id(two)+
		`", "account": "9002", "part": "w",
	   "state": "retrying", "delivery": 1, "attempts": 1, "error_class": "transient", "error": "the platform is busy",
	     "created_at": "2024-05-06T07:08:09Z",
	   "due_at": "2024-05-06T07:09:09Z", "rows": 0, "calls": 0}
	], "next": ""}`, b.get(path))
	require.Equal(t, []string{"9001 d", "9002 w"}, b.pages(path+"?"))
	require.Equal(t, []string{"9001 d"}, b.pages(path+"?state=failed"))
	require.Equal(t, []string{"9002 w"}, b.pages(path+"?text=platform%20is"))
	require.Empty(t, b.pages(path+"?state=failed&text=platform"))

	require.Equal(t, []fieldError{
		{Field: "state",
			Detail: `"done" is refused: want one of waiting, retrying, deferred, succeeded, failed, expired, cancelled, ` +
				`superseded`},
		{Field: "limit", Detail: `"501" is refused: want 1 to 500`},
	}, b.refused(http.MethodGet, path+"?state=done&limit=501", ""))
	require.Equal(t, []fieldError{{Field: "after", Detail: `"x" is refused: want the value of next in the page before`}},
		b.refused(http.MethodGet, path+"?after=x", ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/runs/77/subtasks", "", viewerToken).Code)

	require.NoError(t, b.store.AddOrder(t.Context(),
		ledger.RunOrder{RunID: 78, TaskID: 1, Request: task.Order{Scope: task.ScopeAll}, OrderedAt: now}))
	require.JSONEq(t, `{"subtasks": [], "next": ""}`, b.get("/api/v1/runs/78/subtasks"), "its run is not made yet")
}

func TestSubtask_ShowsTheErrorOfEachDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one := b.account("tulip", "9001", "active", "UTC", "")
	run := b.deadRun(diedAt, 1, dailyName, "code 7: no permission", one)
	path := "/api/v1/subtasks/" + id(run) + "/"
	want := `{"subtask":
	  {"run_id": "` + id(run) +
		`", "task": "tulip.report_daily.account", "planned_at": "2024-05-06T07:08:09Z", "account_id": "` + id(one) +
		`", "account": "9001", "part": "d",
	   "state": "failed", "delivery": 2, "attempts": 1, "node": "n1", "error_class": "invalid",
	     "error": "code 7: no permission", "created_at": "2024-05-06T07:08:09Z",
	   "started_at": "2024-05-06T07:08:09Z", "ended_at": "2024-05-06T07:08:10Z", "rows": 3, "calls": 4},
	  "failures": [{"delivery": 2, "attempts": 1, "state": "failed", "node": "n1", "started_at": "2024-05-06T07:08:09Z",
	    "ended_at": "2024-05-06T07:08:10Z",
	   "error_class": "invalid", "error": "code 7: no permission", "calls": 4}]}`
	require.JSONEq(t, want, b.get(path+id(one)+"?part=d"))
	require.JSONEq(t, want, b.get(path+"tulip%2F9001?part=d"))

	b.addWaiting(run, one, task.Retrying, "", diedAt.Add(time.Minute))
	require.Contains(t, b.get(path+id(one)+"?part=w"), `"due_at":"2024-05-06T07:09:09Z"`)
	require.Contains(t, b.get(path+id(one)+"?part=w"), `"failures":[]`)

	require.Equal(t, []fieldError{{Field: "part", Detail: "is missing: want the part of a subtask"}},
		b.refused(http.MethodGet, path+id(one), ""))
	require.Equal(t, []fieldError{{Field: "account_id",
		Detail: `"nobody" is refused: want the account_id of a subtask, or its account, such as tulip/20000001`}},
		b.refused(http.MethodGet, path+"nobody?part=d", ""))
	for _, missing := range []string{path + id(one) + "?part=x", "/api/v1/subtasks/77/" + id(one) + "?part=d"} {
		require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, missing, "", viewerToken).Code, missing)
	}
}

func TestAccountSubtasks_AreListedForAPeriod(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	const path = "/api/v1/accounts/tulip/9001/subtasks"
	b.deadRun(diedAt, 1, dailyName, "code 7", one, two)
	b.deadRun(diedAt.Add(24*time.Hour), 1, dailyName, "code 8", one, two)
	recent := b.deadRun(now.Add(-time.Hour), 1, dailyName, "code 9", one, two)
	var page struct {
		subtasksPage
		Account struct {
			ExternalID string `json:"external_id"`
		}
		Since, Until time.Time
	}
	decode(t, b.get(path), &page)
	require.Equal(t, "9001", page.Account.ExternalID)
	require.Equal(t, []time.Time{now.Add(-24 * time.Hour), now}, []time.Time{page.Since, page.Until})
	require.Len(t, page.Subtasks, 1, "the last day")
	require.Equal(t, id(recent), page.Subtasks[0].RunID)
	require.Len(t, b.pages(path+"?since=2024-01-01T00:00:00Z"), 3)
	require.Len(t, b.pages(path+"?since=2024-01-01T00:00:00Z&until=2024-05-07T00:00:00%2B08:00"), 1)
	require.Len(t, b.pages(path+"?since=2024-01-01T00:00:00Z&text=code%208"), 1)
	require.Empty(t, b.pages(path+"?since=2024-01-01T00:00:00Z&state=succeeded"))
	require.Equal(t,
		[]fieldError{{Field: "since",
			Detail: "2026-11-22T10:30:00Z is refused: want a time up to that of until, 2026-11-21T10:30:00Z"}},
		b.refused(http.MethodGet, path+"?since=2026-11-22T10:30:00Z", ""))
	require.Equal(t,
		[]fieldError{{Field: "until", Detail: `"today" is refused: want a time such as 2026-11-21T10:30:00Z`}},
		b.refused(http.MethodGet, path+"?until=today", ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/accounts/tulip/99999/subtasks", "",
		viewerToken).Code)
}

func TestDue_IsListedByTime(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	run := b.deadRun(diedAt, 1, dailyName, "code 7", one)
	b.addWaiting(run, one, task.Deferred, "pause:77", diedAt.Add(2*time.Minute))
	b.addWaiting(run, two, task.Retrying, "", diedAt.Add(time.Minute))
	b.addWaiting(run, 0, task.Deferred, "run:55", diedAt.Add(3*time.Minute))
	require.JSONEq(t, `{"due": [
	  {"run_id": "`+id(run)+`", "task": "tulip.report_daily.account", "account_id": "`+id(two)+
		`", "account": "9002", "part": "w", "media": "tulip", "lane": "normal",
	   "state": "retrying", "delivery": 1, "attempts": 1, "due_at": "2024-05-06T07:09:09Z",
	     "reason": "the platform is busy"},
	  {"run_id": "`+id(run)+`", "task": "tulip.report_daily.account", "account_id": "`+id(one)+
		`", "account": "9001", "part": "w", "media": "tulip", "lane": "normal",
	   "state": "deferred", "delivery": 1, "attempts": 1, "due_at": "2024-05-06T07:10:09Z",
	     "reason": "the platform is busy", "waits_for_pause": "77"},
	  {"run_id": "`+id(run)+
		`", "task": "tulip.report_daily.account", "account_id": "0", "part": "w", "media": "tulip", "lane": "normal",
	   "state": "deferred", "delivery": 1, "attempts": 1, "due_at": "2024-05-06T07:11:09Z",
	     "reason": "the platform is busy", "waits_for_run": "55"}
	], "next": ""}`, b.get("/api/v1/due"))
	list := func(query string) (accounts []string) {
		for after := ""; ; {
			var page struct {
				Due []struct {
					AccountID string `json:"account_id"`
				}
				Next string
			}
			decode(t, b.get("/api/v1/due?limit=1&after="+after+query), &page)
			for _, d := range page.Due {
				accounts = append(accounts, d.AccountID)
			}
			if after = page.Next; after == "" {
				return accounts
			}
		}
	}
	require.Equal(t, []string{id(two), id(one), "0"}, list(""))
	require.Equal(t, []string{id(two)}, list("&state=retrying"))
	require.Equal(t, []string{id(two), id(one), "0"}, list("&media=tulip&lane=normal&text=is%20busy"))
	require.Empty(t, list("&lane=important"))
	require.Len(t, b.refused(http.MethodGet, "/api/v1/due?state=waiting", ""), 1)
}
