package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer"
)

const dailyRun = "/api/v1/tasks/tulip.report_daily.account/run"

func TestOrder_IsWrittenForTheLeader(t *testing.T) {
	t.Parallel()
	disabled := daily()
	disabled.Enabled = false
	b := setup(t, disabled)
	b.account("tulip", "9000", "active", "Asia/Shanghai", "")
	second := b.account("tulip", "9002", "inactive", "America/New_York", "")
	first := b.account("tulip", "9001", "active", "Asia/Shanghai", "")

	w := b.post(dailyRun,
		`{"accounts": ["9002", "9001", "9002"], "from": "2026-11-18", "to": "2026-11-20", "confirm": true, "spare": true}`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	var answer struct {
		RunID string `json:"run_id"`
	}
	decode(t, w.Body.String(), &answer)
	require.JSONEq(t, `{"run_id": "`+answer.RunID+
		`", "task": "tulip.report_daily.account", "state": "pending", "accounts": ["9001", "9002"],
	  "from": "2026-11-18", "to": "2026-11-20", "confirm": true, "spare": true, "ordered_by": "otto",
	    "ordered_at": "2026-11-21T10:30:00Z"}`, w.Body.String())
	require.Equal(t, "/api/v1/runs/"+answer.RunID, w.Header().Get("Location"))
	require.Equal(t, 1, b.producer.woken)

	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	runID, err := strconv.ParseInt(answer.RunID, 10, 64)
	require.NoError(t, err)
	require.Equal(t, now, task.RunTime(runID), "the day in the id, which names the log table, is from the same clock")
	require.Equal(t, []ledger.RunOrder{{
		RunID: runID, TaskID: 1, OrderedAt: now,
		Request: task.Order{Accounts: []int64{second, first}, From: "2026-11-18", To: "2026-11-20", Confirm: true,
			Compare: true, Spare: true, By: "otto"},
	}}, orders)

	var actor, action, object, after string
	row := b.store.Config.Writer(t.Context()).Raw("SELECT actor, action, object, after_value FROM audit_log").Row()
	require.NoError(t, row.Scan(&actor, &action, &object, &after))
	require.Equal(t, []string{"otto", "task.run", "cron_task/tulip.report_daily.account"}, []string{actor, action, object})
	require.JSONEq(t, w.Body.String(), after)
	version, err := b.store.TasksVersion(t.Context())
	require.NoError(t, err)
	require.Zero(t, version, "an order does not make the producers reload")

	require.JSONEq(t, `{"id": "`+answer.RunID+
		`", "task_id": "1", "task": "tulip.report_daily.account", "kind": "order", "state": "pending"}`,
		b.get(w.Header().Get("Location")))
}

func TestOrder_OfTheWholeScopeIsTheTasksOwnWork(t *testing.T) {
	t.Parallel()
	b := setup(t, daily(), good(2, "tulip.adgroup.full", "tulip.adgroup", ""),
		good(3, "tulip.token_refresh", "tulip.token_refresh", ""), good(4, "reload", "system.summary", ""))
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Mars/Olympus", "") // skipped here; the run names it
	for _, name := range []string{"tulip.report_daily.account", "tulip.adgroup.full", "tulip.token_refresh", "reload"} {
		w := b.post("/api/v1/tasks/"+name+"/run", `{"scope": "all"}`)
		require.Equal(t, http.StatusAccepted, w.Code, "%s: %s", name, w.Body.String())
		require.Contains(t, w.Body.String(), `"accounts":[],"ordered_by"`)
	}
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, orders, 4)
	for _, o := range orders {
		require.Equal(t, task.Order{Scope: task.ScopeAll, Compare: true, By: "otto"}, o.Request)
	}
}

func TestOrder_RefusesBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	const adgroup, refresh, summary = "/api/v1/tasks/tulip.adgroup.full/run", "/api/v1/tasks/tulip.token_refresh/run",
		"/api/v1/tasks/system.summary/run"
	offline := good(5, "tulip.offline", "tulip.report_daily", `{"level":"account"}`)
	offline.Scope = "inactive,invalid"
	all := good(6, "tulip.all", "tulip.report_daily", `{"level":"account"}`)
	all.Scope = "all"
	b := setup(t, daily(), good(2, "tulip.adgroup.full", "tulip.adgroup", ""),
		good(3, "tulip.token_refresh", "tulip.token_refresh", ""), good(4, "system.summary", "system.summary", ""), offline,
		all)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Asia/Shanghai", "re-authorise")
	b.account("tulip", "9003", "active", "Mars/Olympus", "")
	b.account("tulip", "9004", "invalid", "Pacific/Kiritimati", "") // where it is 22 November
	b.account("orchid", "9005", "active", "Asia/Shanghai", "")
	many := `"` + strings.Repeat(`1","`, 10_000) + `1"`
	var unknown []string
	for i := range 22 {
		unknown = append(unknown, strconv.Itoa(100+i))
	}

	tests := []struct {
		name string
		path string
		body string
		want []fieldError
	}{
		{"a day that the platform no longer keeps", dailyRun,
			`{"accounts": ["9001"], "from": "2020-01-01", "to": "2020-01-03"}`,
			[]fieldError{{Field: "from", Detail: "2020-01-01 is refused: want "}}},
		{"a future day of the whole scope", dailyRun, `{"scope": "all", "from": "2026-11-21", "to": "2026-11-22"}`,
			[]fieldError{{Field: "to",
				Detail: "2026-11-22 is refused: want a day up to 2026-11-21, today in the account's zone (accounts in " +
					"Asia/Shanghai)"}}},
		{"a day that is in the future for some of the scope", "/api/v1/tasks/tulip.all/run",
			`{"scope": "all", "from": "2026-11-22", "to": "2026-11-22"}`,
			[]fieldError{{Field: "to",
				Detail: "2026-11-22 is refused: want a day up to 2026-11-21, today in the account's zone (accounts in " +
					"Asia/Shanghai)"}}},
		{"days of a configuration task", adgroup, `{"accounts": ["9001"], "from": "2026-11-18", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: "a pull of configuration has no days: remove from and to"}}},
		{"days of a task of logins", refresh, `{"scope": "all", "from": "2026-11-18", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: "this task has no days: remove from and to"}}},
		{"days of the system's work", summary, `{"scope": "all", "from": "2026-11-18", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: "this task has no days: remove from and to"}}},
		{"accounts of a task of logins", refresh, `{"accounts": ["9001"]}`,
			[]fieldError{{Field: "accounts", Detail: `this task does not work on accounts: order it with "scope": "all"`}}},
		{"accounts of the system's work", summary, `{"accounts": ["9001"]}`,
			[]fieldError{{Field: "accounts", Detail: `this task does not work on accounts: order it with "scope": "all"`}}},
		{"accounts that cannot be pulled", dailyRun, `{"accounts": ["9001", "9002", "9003", "9005", "9999", ""]}`,
			[]fieldError{
				{Field: "accounts", Detail: `"" is not a known account of tulip`},
				{Field: "accounts", Detail: `"9002" is parked (re-authorise): it is not pulled until the reason is fixed`},
				{Field: "accounts",
					Detail: `"9003" has an unusable time zone in media_account: timezone: "Mars/Olympus" is refused: ` +
						`want a name of the IANA time zone database, such as Asia/Shanghai or UTC`},
				{Field: "accounts", Detail: `"9005" is not a known account of tulip`},
				{Field: "accounts", Detail: `"9999" is not a known account of tulip`},
			}},
		{"too many accounts", dailyRun, `{"accounts": [` + many + `]}`,
			[]fieldError{{Field: "accounts", Detail: "10001 are too many: want up to 10000, or "}}},
		{"a confirmation without accounts", dailyRun,
			`{"scope": "all", "confirm": true, "from": "2026-11-18", "to": "2026-11-18"}`,
			[]fieldError{{Field: "confirm",
				Detail: "needs accounts: name the accounts whose answers are to be stored without question"}}},
		{"from without to", dailyRun, `{"scope": "all", "from": "2026-11-18"}`,
			[]fieldError{{Field: "to", Detail: "is missing: from and to go together; for one day give it twice"}}},
		{"to without from", dailyRun, `{"scope": "all", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: "is missing: from and to go together; for one day give it twice"}}},
		{"days in the wrong order", dailyRun, `{"scope": "all", "from": "2026-11-20", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: "2026-11-20 is refused: want a day up to 2026-11-18, the value of to"}}},
		{"values that are not days", dailyRun, `{"scope": "all", "from": "20261118", "to": "yesterday"}`, []fieldError{
			{Field: "from", Detail: `"20261118" is refused: want a day such as 2026-11-21`},
			{Field: "to", Detail: `"yesterday" is refused: want a day such as 2026-11-21`},
		}},
		{"a future day of an account", dailyRun, `{"accounts": ["9001"], "from": "2026-11-20", "to": "2030-01-01"}`,
			[]fieldError{{Field: "to", Detail: "2030-01-01 is refused: want a day up to "}}},
		{"a day before all figures", dailyRun, `{"scope": "all", "from": "0000-01-01", "to": "2026-11-18"}`,
			[]fieldError{{Field: "from", Detail: `"0000-01-01" is refused: want a day from 2010-01-01 to `}}},
		{"ids as numbers", dailyRun, `{"accounts": [9001]}`,
			[]fieldError{{Field: "accounts", Detail: "want a string, got number"}}},
		{"a misspelt field", dailyRun, `{"account": ["9001"]}`,
			[]fieldError{{Field: "account", Detail: "there is no such field"}}},
	}
	for _, test := range tests {
		got := b.refused(http.MethodPost, test.path, test.body)
		require.Len(t, got, len(test.want), test.name)
		for i, want := range test.want {
			require.Equal(t, want.Field, got[i].Field, test.name)
			require.True(t, strings.HasPrefix(got[i].Detail, want.Detail), "%s: %s", test.name, got[i].Detail)
		}
	}

	got := b.refused(http.MethodPost, dailyRun, `{"accounts": ["`+strings.Join(unknown, `","`)+`"]}`)
	require.Len(t, got, 21)
	require.Equal(t, fieldError{Field: "accounts", Detail: "and 2 more"}, got[20])

	b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET parked = 'lost' WHERE tier <> 'active'")
	require.Equal(t, []fieldError{{Field: "accounts",
		Detail: "the task's scope (inactive,invalid) has no account of tulip that is bound and not parked: name accounts"}},
		b.refused(http.MethodPost, "/api/v1/tasks/tulip.offline/run", `{"scope": "all"}`))
	b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET timezone = 'Mars/Olympus'")
	w := b.post(dailyRun, `{"scope": "all"}`)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, b.problem(w).Detail, `The order cannot be planned: timezone: "Mars/Olympus" is refused`)

	require.Zero(t, b.count(b.store.Data, "manual_order"))
	require.Zero(t, b.count(b.store.Config, "audit_log"))
	require.Zero(t, b.producer.woken)
}

func TestOrder_OfATaskThatCannotRun(t *testing.T) {
	t.Parallel()
	errs := []*config.FieldError{{Key: "cron", Value: "garbage", Want: "five fields"}}
	lastGood := daily()
	lastGood.Errors = errs
	b := setup(t, lastGood, producer.Task{Task: task.Task{ID: 2, Name: "never.good"}, Errors: errs})
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")

	w := b.post("/api/v1/tasks/never.good/run", `{"scope": "all"}`)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, []fieldError{{Field: "cron", Detail: `"garbage" is refused: want five fields`}}, b.problem(w).Errors)
	require.Equal(t, http.StatusNotFound, b.post("/api/v1/tasks/none/run", `{"scope": "all"}`).Code)
	require.Zero(t, b.count(b.store.Data, "manual_order"))

	require.Equal(t, http.StatusAccepted, b.post(dailyRun, `{"scope": "all"}`).Code,
		"its last good version runs, also by order")
}

func TestOrder_ADryRunEstimatesTheWork(t *testing.T) {
	t.Parallel()
	all := good(6, "tulip.all", "tulip.report_daily", `{"level":"account"}`)
	all.Scope, all.FanOutRate = "all", 2
	b := setup(t, daily(), all, good(3, "tulip.token_refresh", "tulip.token_refresh", ""),
		good(4, "system.summary", "system.summary", ""))
	for i, zone := range []string{"Asia/Shanghai", "Asia/Shanghai", "America/New_York"} {
		b.account("tulip", strconv.Itoa(9001+i), "active", zone, "")
	}
	b.account("tulip", "9009", "inactive", "Asia/Shanghai", "")
	dry := func(path, body string) string {
		t.Helper()
		w := b.post(path, body)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return w.Body.String()
	}
	const perDay = `"estimated_calls": null, "estimated_seconds": `
	var asked struct{ Subtasks int64 }
	decode(t, dry(dailyRun, `{"accounts": ["9001"], "from": "2026-11-18", "to": "2026-11-20", "dry_run": true}`), &asked)
	require.Positive(t, asked.Subtasks)
	require.JSONEq(t,
		`{"dry_run": true, "task": "tulip.report_daily.account", "accounts": ["9001"], "from": "2026-11-18",
		  "to": "2026-11-20",
	  "subtasks": `+id(asked.Subtasks)+`, `+perDay+`null}`, dry(dailyRun,
			`{"accounts": ["9001"], "from": "2026-11-18", "to": "2026-11-20", "dry_run": true}`))
	// Each account has one subtask. The scope is in two zones, the rate is two a second.
	require.JSONEq(t,
		`{"dry_run": true, "task": "tulip.all", "accounts": [], "from": "2026-11-18", "to": "2026-11-18", "subtasks": 4, `+
			perDay+`2}`,
		dry("/api/v1/tasks/tulip.all/run", `{"scope": "all", "from": "2026-11-18", "to": "2026-11-18", "dry_run": true}`))
	require.JSONEq(t,
		`{"dry_run": true, "task": "tulip.report_daily.account", "accounts": [], "from": "2026-11-18", "to": "2026-11-18",
		  "subtasks": 3, `+perDay+`null}`,
		dry(dailyRun, `{"scope": "all", "from": "2026-11-18", "to": "2026-11-18", "dry_run": true}`))
	require.Contains(t, dry("/api/v1/tasks/tulip.token_refresh/run", `{"scope": "all", "dry_run": true}`), `"subtasks":0,`)
	require.Contains(t, dry("/api/v1/tasks/system.summary/run", `{"scope": "all", "dry_run": true}`), `"subtasks":1,`)

	// The estimate comes from the last run of the task.
	b.deadRun(diedAt, 1, "tulip.report_daily.account", "x", 77)
	n := int64(10)
	ended := diedAt.Add(time.Hour)
	run := task.NewRunID(ended)
	require.NoError(t, b.store.EnsureLogTable(t.Context(), task.LogDay(run)))
	b.addRun(ledger.Run{ID: run, TaskID: 1, TaskName: "t", State: task.RunSucceeded, Total: &n, Succeeded: 10,
		PlannedAt: ended, CreatedAt: ended, EndedAt: ended.Add(5 * time.Second)})
	for i := range 10 {
		err := b.store.Data.Writer(t.Context()).Exec("INSERT INTO "+ledger.LogTable(run)+
			" (run_id, account_id, part, state, delivery, attempt, created_at, api_calls) VALUES (?, ?, 'd', 'succeeded', 1, "+
			"0, ?, 3)",
			run, i+1, sqldb.At(ended)).Error
		require.NoError(t, err)
	}
	require.Contains(t, dry(dailyRun, `{"scope": "all", "from": "2026-11-18", "to": "2026-11-18", "dry_run": true}`),
		`"subtasks":3,"estimated_calls":9,"estimated_seconds":2}`)

	require.Equal(t, "from", b.refused(http.MethodPost, dailyRun,
		`{"scope": "all", "from": "2020-01-01", "to": "2020-01-01", "dry_run": true}`)[0].Field,
		"a dry run is refused like the order")
	require.Zero(t, b.count(b.store.Data, "manual_order"))
	require.Empty(t, b.auditText())
	require.Zero(t, b.producer.woken)
}

// The entry of an action that fails is completed with the error.
func TestAudit_RecordsThatAnActionFailed(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("DROP TABLE manual_order").Error)
	require.Equal(t, http.StatusInternalServerError, b.post(dailyRun, `{"scope": "all"}`).Code)
	log := b.audit()
	require.Len(t, log, 1)
	require.Contains(t, log[0].After, `"state":"pending"`)
	require.Regexp(t, `^it failed, or its outcome is unknown: see request [0-9a-f]{16} in the log$`,
		log[0].Error)
}
