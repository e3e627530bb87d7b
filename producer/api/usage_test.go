package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

func TestUsage_ShowsWhatIsLeftAndWhoUsedIt(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	require.NoError(t, b.rules.Set([]grant.Rule{
		{Media: "tulip", Endpoint: "*", Scope: grant.ScopePlatform, Period: 24 * time.Hour, Limit: 10_000_000, Share: 0.5},
	}))
	for range 3 {
		_, err := b.waiter.Wait(t.Context(), grant.Call{Media: "tulip", Endpoint: "a/get", App: "1"})
		require.NoError(t, err)
	}
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	b.deadRun(now.Add(-time.Hour), 1, dailyName, "code 7", one, two) // four calls each
	again := b.deadRun(now.Add(-2*time.Hour), 1, dailyName, "code 7", one)
	b.addWaiting(again, two, task.Retrying, "", now)
	b.deadRun(now.Add(-11*time.Hour), 1, dailyName, "code 7", one) // yesterday, in UTC
	other := b.deadRun(now.Add(-3*time.Hour), 2, "adgroup", "code 7", one)
	db := b.store.Data.Writer(t.Context())
	require.NoError(t, db.Exec("UPDATE run SET lane = 'offline' WHERE id = ?", other).Error)
	// A delivery that failed and is retried made calls too.
	require.NoError(t, db.Exec("UPDATE "+ledger.LogTable(again)+" SET state = 'waiting' WHERE part = 'w'").Error)
	_, err := b.store.ApplyOutcomes(t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: again, AccountID: two, Part: "w"}, Media: "tulip", Lane: "normal", TaskID: 1, Delivery: 1,
		Attempt: 1, State: task.Retrying, DueAt: now.Add(time.Minute), ErrorClass: "transient", ErrorText: "busy",
		StartedAt: now, EndedAt: now, Calls: 7,
	}})
	require.NoError(t, err)

	const path = "/api/v1/limits/usage"
	require.JSONEq(t, `{"since": "2026-11-21T00:00:00Z",
	  "limits": [{"media": "tulip", "endpoint": "*", "scope": "platform", "unit": "calls", "period": "24h0m0s",
	    "allowed": 5000000, "used": 3, "left": 4999997}],
	  "calls": 23,
	  "tasks": [{"media": "tulip", "task": "tulip.report_daily.account", "lane": "normal", "runs": 2, "calls": 19},
	    {"media": "tulip", "task": "adgroup", "lane": "offline", "runs": 1, "calls": 4}],
	  "lanes": [{"media": "tulip", "lane": "normal", "calls": 19}, {"media": "tulip", "lane": "offline", "calls": 4}],
	  "accounts_calls": 23,
	  "accounts": [{"media": "tulip", "account": "9001", "account_id": "`+id(one)+`", "calls": 12},
	    {"media": "tulip", "account": "9002", "account_id": "`+id(two)+`", "calls": 11}]}`, b.get(path))
	require.Contains(t, b.get(path+"?since=2026-11-20T20:00:00Z"), `"calls":27`)
	require.JSONEq(t, `{"since": "2026-11-21T00:00:00Z", "limits": [], "calls": 0, "tasks": [], "lanes": [],
	  "accounts_calls": 0, "accounts": []}`, b.get(path+"?media=orchid"))

	require.NoError(t, db.Exec("UPDATE run SET total = 200001 WHERE task_id = 1").Error)
	require.Contains(t, b.get(path), `"accounts_calls":4,`, "runs that are too large are left out")
	for _, since := range []string{"2026-11-14T10:29:59Z", "2026-11-21T10:30:01Z"} {
		want := []fieldError{{Field: "since", Detail: since + " is refused: want a time from 2026-11-14T10:30:00Z to now"}}
		require.Equal(t, want, b.refused(http.MethodGet, path+"?since="+since, ""))
	}
	require.Equal(t, "media", b.refused(http.MethodGet, path+"?media=myspace", "")[0].Field)
}
