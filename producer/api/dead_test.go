package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer"
)

// diedAt is when the tests' subtasks died: before any clock of the tests.
var diedAt = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// deadRun adds a run with a dead subtask for each account. All have failed with the same text.
func (b *bench) deadRun(at time.Time, taskID int64, name, text string, accounts ...int64) int64 {
	b.t.Helper()
	runID, n := task.NewRunID(at), int64(len(accounts))
	b.addRun(ledger.Run{ID: runID, TaskID: taskID, TaskName: name, Kind: ledger.RunOfTick, State: task.RunRunning,
		Total: &n, PlannedAt: at, CreatedAt: at, Settings: task.Settings{Params: json.RawMessage(`{"level":"account"}`)}})
	require.NoError(b.t, b.store.EnsureLogTable(b.t.Context(), task.LogDay(runID)))
	var outcomes []ledger.Outcome
	for _, account := range accounts {
		err := b.store.Data.Writer(b.t.Context()).Exec("INSERT INTO "+ledger.LogTable(runID)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, 'd', 'waiting', 2, 0, ?)",
			runID, account, sqldb.At(at)).Error
		require.NoError(b.t, err)
		outcomes = append(outcomes, ledger.Outcome{
			Key: task.Key{RunID: runID, AccountID: account, Part: "d"}, Media: "tulip", Lane: "normal", TaskID: taskID,
			Delivery: 2,
			Attempt:  1, State: task.Failed, ErrorClass: "invalid", ErrorText: text, Node: "n1", StartedAt: at,
			EndedAt: at.Add(time.Second), Rows: 3, Calls: 4,
		})
	}
	stale, err := b.store.ApplyOutcomes(b.t.Context(), outcomes)
	require.NoError(b.t, err)
	require.Zero(b.t, stale)
	return runID
}

func TestDead_IsListedAndShown(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	older := b.deadRun(diedAt, 1, "tulip.report_daily.account", "account 9001 has no permission", one)
	newer := b.deadRun(diedAt.Add(time.Minute), 1, "tulip.report_daily.account", "account 9002 has no permission", two)
	gone := b.deadRun(diedAt.Add(time.Hour), 2, "gone", "timeout", one)

	row := func(run, account int64, external, taskID, name, text, print, at string) string {
		return `{"run_id": "` + id(run) + `", "account_id": "` + id(account) + `", "account": "` + external +
			`", "part": "d", "task_id": "` + taskID + `",
		  "task": "` + name + `", "media": "tulip", "attempts": 1, "error_class": "invalid", "error_print": "` + print +
			`", "error": "` + text + `", "dead_at": "` + at + `"}`
	}
	first := row(gone, one, "9001", "2", "gone", "timeout", "timeout", "2024-05-06T08:08:10Z")
	second := row(newer, two, "9002", "1", "tulip.report_daily.account", "account 9002 has no permission",
		"account ? has no permission", "2024-05-06T07:09:10Z")
	third := row(older, one, "9001", "1", "tulip.report_daily.account", "account 9001 has no permission",
		"account ? has no permission", "2024-05-06T07:08:10Z")
	require.JSONEq(t, `{"dead": [`+first+`,`+second+`,`+third+`], "next": ""}`, b.get("/api/v1/dead"))

	var page struct {
		Dead []json.RawMessage
		Next string
	}
	var pages []string
	for after := ""; len(pages) == 0 || page.Next != ""; after = page.Next {
		page.Dead = nil
		decode(t, b.get("/api/v1/dead?limit=1&after="+after), &page)
		require.Len(t, page.Dead, 1)
		pages = append(pages, string(page.Dead[0]))
	}
	require.Len(t, pages, 3)
	require.JSONEq(t, third, pages[2])

	for query, want := range map[string]string{
		"task=gone":                                   first,
		"task=gone&media=tulip":                       first,
		"media=tulip&account=9002":                    second,
		"run=" + id(older):                            third,
		"print=timeout":                               first,
		"class=invalid&text=9002%20":                  second,
		"since=2024-05-06T08:00:00Z":                  first,
		"until=2024-05-06T07:08:10Z":                  third,
		"media=tulip&text=no+such":                    "",
		"class=quota":                                 "",
		"task=gone&until=2024-05-01T00:00:00%2B08:00": "",
	} {
		require.JSONEq(t, `{"dead": [`+want+`], "next": ""}`, b.get("/api/v1/dead?"+query), query)
	}
	// A task's account needs no media.
	require.JSONEq(t, `{"dead": [`+second+`], "next": ""}`,
		b.get("/api/v1/dead?task=tulip.report_daily.account&account=9002"))

	require.JSONEq(t,
		`{"total": 3, "redriving": 0, "stake": {"looked": 3, "healed": 0, "unhealed": 3, "accounts": 2}, "more": false,
		  "groups": [
	  {"print": "account ? has no permission", "count": 2, "redriving": 0, "first_dead_at": "2024-05-06T07:08:10Z",
	    "last_dead_at": "2024-05-06T07:09:10Z",
	   "example": "account 9002 has no permission", "classes": ["invalid"], "tasks": ["tulip.report_daily.account"]},
	  {"print": "timeout", "count": 1, "redriving": 0, "first_dead_at": "2024-05-06T08:08:10Z",
	    "last_dead_at": "2024-05-06T08:08:10Z",
	   "example": "timeout", "classes": ["invalid"], "tasks": ["gone"]}]}`, b.get("/api/v1/dead/groups"))
	// All days of the dead subtask of account 9001 have been pulled since, none of 9002's.
	data := b.store.Data.Writer(t.Context())
	require.NoError(t, data.Exec("UPDATE subtask_dead SET part = '2024-05-05', task_id = 1 WHERE account_id = ?",
		one).Error)
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec(
			"INSERT INTO cron_task (id, name, media, handler, cron, params) VALUES (1, 'daily', 'tulip', "+
				"'tulip.report_daily', '* * * * *', '{}')").Error)
	require.NoError(t,
		data.Exec(
			"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, complete_version, state) VALUES (?, "+
				"'report_daily', 'account', '2024-05-05', 'tulip', ?, ?, 'complete')",
			one, sqldb.At(diedAt.Add(48*time.Hour)), diedAt.Add(48*time.Hour).UnixMicro()).Error)
	for account, cost := range map[int64]int64{one: 7_000_000, two: 12_500_000} {
		for ago, part := range map[int]int64{1: 1, 2: 3} {
			require.NoError(t,
				data.Exec(
					"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, version, "+
						"updated_at) VALUES (?, ?, 'account', '', 'tulip', 'CNY', 'UTC', ?, 1, ?)",
					now.AddDate(0, 0, -ago).Format(time.DateOnly), account, cost*part, sqldb.At(now)).Error)
		}
	}
	var stake struct {
		Stake  json.RawMessage
		Groups []struct{ Healed int }
	}
	decode(t, b.get("/api/v1/dead/groups"), &stake)
	require.JSONEq(t,
		`{"looked": 3, "healed": 2, "unhealed": 1, "accounts": 1, "money": [{"currency": "CNY", "micros": 12500000}]}`,
		string(stake.Stake),
		"healed subtasks need no action, and the last known day counts")
	require.Equal(t, 1, stake.Groups[0].Healed)
	require.EqualValues(t, 2, b.plan("redrive", `{"task": "tulip.report_daily.account", "dry_run": true}`,
		http.StatusOK).Healed)
	require.NoError(t, data.Exec("UPDATE subtask_dead SET part = 'd' WHERE account_id = ?", one).Error)
	var groups struct {
		More   bool
		Groups []struct{ Print string }
	}
	decode(t, b.get("/api/v1/dead/groups?limit=1"), &groups)
	require.True(t, groups.More)
	require.Len(t, groups.Groups, 1)

	show := "/api/v1/dead/subtask?" + url.Values{"run": {id(older)}, "account_id": {id(one)}, "part": {"d"}}.Encode()
	var shown map[string]json.RawMessage
	decode(t, b.get(show), &shown)
	require.JSONEq(t, `"account 9001 has no permission"`, string(shown["error"]))
	require.JSONEq(t, `{"level": "account"}`, string(shown["params"]))
	require.JSONEq(t,
		`{"state": "failed", "delivery": 2, "node": "n1", "created_at": "2024-05-06T07:08:09Z",
		  "started_at": "2024-05-06T07:08:09Z",
	  "ended_at": "2024-05-06T07:08:10Z", "rows": 3, "calls": 4}`, string(shown["log"]))
	require.Contains(t, string(shown["run"]), `"planned_at":"2024-05-06T07:08:09Z"`)
	for _, name := range []string{"9001", "tulip/9001", "tulip/" + id(one)} {
		require.JSONEq(t, b.get(show), b.get("/api/v1/dead/subtask?"+
			url.Values{"run": {id(older)}, "account_id": {name}, "part": {"d"}}.Encode()), name)
	}
	require.Equal(t, []fieldError{{Field: "account_id",
		Detail: `"orchid/9001" is refused: want the account_id of a subtask, or its account, such as tulip/20000001`}},
		b.refused(http.MethodGet, "/api/v1/dead/subtask?run=1&part=d&account_id=orchid/9001", ""))

	// The day's log and the run's row are deleted in time; the dead subtask stays.
	require.NoError(t, b.store.DropLogTable(t.Context(), task.LogDay(older)))
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("DELETE FROM run WHERE id = ?", older).Error)
	shown = nil
	decode(t, b.get(show), &shown)
	require.NotContains(t, shown, "log")
	require.NotContains(t, shown, "run")
	w := b.call(http.MethodGet, "/api/v1/dead/subtask?run=1&account_id=0&part=x", "", viewerToken)
	require.Equal(t, http.StatusNotFound, w.Code)
}

// planned is the answer to a redrive or a drop.
type planned struct {
	DryRun    bool   `json:"dry_run"`
	Count     int64  `json:"count"`
	Dropped   int64  `json:"dropped"`
	Redriving int64  `json:"redriving"`
	Healed    int64  `json:"healed"`
	AtLeast   bool   `json:"healed_at_least"`
	Until     string `json:"until"`
	Calls     *int64 `json:"estimated_calls"`
	Seconds   *int64 `json:"estimated_seconds"`
	Tasks     []struct {
		Task    string `json:"task"`
		Count   int64  `json:"count"`
		RunID   string `json:"run_id"`
		Refused string `json:"refused"`
	} `json:"tasks"`
}

func (b *bench) plan(path, body string, status int) planned {
	b.t.Helper()
	w := b.post("/api/v1/dead/"+path, body)
	require.Equal(b.t, status, w.Code, w.Body.String())
	var p planned
	decode(b.t, w.Body.String(), &p)
	return p
}

func TestRedriveDead_ReportsWhenHealedIsOnlyAMinimum(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	accounts := make([]int64, 1000)
	for i := range accounts {
		accounts[i] = int64(i + 1)
	}
	b.deadRun(diedAt, 1, "tulip.report_daily.account", "a", accounts...)
	const body = `{"task": "tulip.report_daily.account", "dry_run": true}`
	require.False(t, b.plan("redrive", body, http.StatusOK).AtLeast)
	b.deadRun(diedAt.Add(time.Minute), 1, "tulip.report_daily.account", "a", 1001)
	require.True(t, b.plan("redrive", body, http.StatusOK).AtLeast, "one was not counted")
}

func TestRedriveDead_OrdersARunForEachTask(t *testing.T) {
	t.Parallel()
	second := good(2, "tulip.adgroup.full", "tulip.adgroup", "")
	second.FanOutRate = 2
	b := setup(t, daily(), second, producer.Task{Task: task.Task{ID: 3, Name: "never.good"}})
	origin := b.deadRun(diedAt, 1, "old name", "a 1", 1, 2, 3)
	b.deadRun(diedAt, 2, "tulip.adgroup.full", "a 2", 1, 2, 3, 4)
	b.deadRun(diedAt, 2, "tulip.adgroup.full", "a 3", 9)
	b.deadRun(diedAt, 3, "never.good", "a 4", 1, 2)
	b.deadRun(diedAt, 4, "deleted", "a 5", 1)
	// A run that succeeded: 10 subtasks in 2 s, two calls each.
	well, ten := task.NewRunID(diedAt), int64(10)
	b.addRun(ledger.Run{ID: well, TaskID: 2, TaskName: "x", State: task.RunSucceeded, Total: &ten, Succeeded: 10,
		PlannedAt: diedAt, CreatedAt: diedAt, EndedAt: diedAt.Add(2 * time.Second)})
	err := b.store.Data.Writer(t.Context()).Exec("INSERT INTO "+ledger.LogTable(well)+
		" (run_id, account_id, part, state, delivery, attempt, created_at, api_calls) VALUES (?, 1, 'd', 'succeeded', 1, "+
		"0, ?, 2)", well, sqldb.At(diedAt)).Error
	require.NoError(t, err)

	const body = `{"print": "a ?"`
	dry := b.plan("redrive", body+`, "dry_run": true}`, http.StatusOK)
	require.True(t, dry.DryRun)
	require.EqualValues(t, 3+5, dry.Count)
	require.Nil(t, dry.Calls, "the cost of the first task is unknown")
	require.Nil(t, dry.Seconds)
	require.Len(t, dry.Tasks, 4)
	require.Equal(t, "tulip.report_daily.account", dry.Tasks[0].Task, "the present name of the task")
	require.Contains(t, dry.Tasks[2].Refused, "correct it")
	require.Contains(t, dry.Tasks[3].Refused, "was deleted")
	one := b.plan("redrive", `{"task": "tulip.adgroup.full", "dry_run": true}`, http.StatusOK)
	require.EqualValues(t, 10, *one.Calls)
	require.EqualValues(t, 3, *one.Seconds, "5 at the task's rate of 2 a second")
	one = b.plan("redrive", `{"task": "tulip.adgroup.full", "rate": 100, "dry_run": true}`, http.StatusOK)
	require.EqualValues(t, 1, *one.Seconds, "5 at the pace of 5 a second")
	require.Zero(t, b.count(b.store.Data, "manual_order"))
	require.Zero(t, b.count(b.store.Config, "audit_log"))

	done := b.plan("redrive", body+`, "until": "`+dry.Until+`", "rate": 9}`, http.StatusAccepted)
	require.EqualValues(t, 8, done.Count)
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339Nano, dry.Until)
	require.NoError(t, err)
	slices.SortFunc(orders, func(a, b ledger.RunOrder) int { return int(a.TaskID - b.TaskID) })
	for i, o := range orders {
		taskID := int64(i + 1)
		runID, err := strconv.ParseInt(done.Tasks[i].RunID, 10, 64)
		require.NoError(t, err)
		require.Equal(t, ledger.RunOrder{RunID: runID, TaskID: taskID, OrderedAt: now,
			Request: task.Order{By: "otto", Redrive: &task.Redrive{
				Filter: task.DeadFilter{TaskID: taskID, Print: "a ?", Until: until}, Rate: 9,
				Origin: map[int64]int64{1: origin}[taskID],
			}}}, o)
	}
	require.Len(t, orders, 2)
	require.Empty(t, done.Tasks[2].RunID)
	require.Equal(t, 1, b.producer.woken)
	var actor, action, object, after string
	row := b.store.Config.Writer(t.Context()).Raw("SELECT actor, action, object, after_value FROM audit_log").Row()
	require.NoError(t, row.Scan(&actor, &action, &object, &after))
	require.Equal(t, []string{"otto", "dead.redrive", "subtask_dead"}, []string{actor, action, object})
	require.Contains(t, after, `"print":"a ?"`)
	require.Contains(t, after, `"count":8`)
	require.Equal(t, 11, b.count(b.store.Data, "subtask_dead"), "the leader redrives them, not the API")

	// The filter chooses only subtasks that cannot be redriven.
	w := b.post("/api/v1/dead/redrive", `{"task": "deleted"}`)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, []httpapi.FieldError{{Field: "task",
		Detail: "deleted: the task was deleted; its dead subtasks can only be dropped"}}, b.problem(w).Errors)
	// The filter chooses nothing.
	none := b.plan("redrive", `{"print": "no such"}`, http.StatusOK)
	require.Zero(t, none.Count)
	require.Equal(t, 2, b.count(b.store.Data, "manual_order"))
	require.Equal(t, 1, b.count(b.store.Config, "audit_log"))
}

func TestDropDead_DropsWhatTheDryRunCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.deadRun(diedAt, 1, "x", "a 1", 1, 2, 3)
	b.deadRun(diedAt, 4, "deleted", "b", 1)
	err := b.store.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = 5 WHERE account_id = 2").Error
	require.NoError(t, err)

	dry := b.plan("drop", `{"all": true, "dry_run": true}`, http.StatusOK)
	require.EqualValues(t, 3, dry.Count)
	require.EqualValues(t, 1, dry.Redriving)
	require.Equal(t, 4, b.count(b.store.Data, "subtask_dead"))
	require.Zero(t, b.count(b.store.Config, "audit_log"))

	done := b.plan("drop", `{"task": "tulip.report_daily.account", "until": "`+dry.Until+`"}`, http.StatusOK)
	require.EqualValues(t, 2, done.Dropped)
	require.Equal(t, 2, b.count(b.store.Data, "subtask_dead"))
	done = b.plan("drop", `{"all": true, "until": "`+dry.Until+`"}`, http.StatusOK)
	require.EqualValues(t, 1, done.Dropped)
	require.Equal(t, 1, b.count(b.store.Data, "subtask_dead"), "a subtask that a run is redriving stays")
	done = b.plan("drop", `{"all": true}`, http.StatusOK)
	require.Zero(t, done.Count)
	var actions []string
	require.NoError(t, b.store.Config.Writer(t.Context()).Raw("SELECT action FROM audit_log").Scan(&actions).Error)
	require.Equal(t, []string{"dead.drop", "dead.drop"}, actions)
}

func TestDead_RefusesWrongParametersAndFilters(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "UTC", "")
	b.deadRun(diedAt, 1, "old", "a", 1)
	const drop, redrive = "/api/v1/dead/drop", "/api/v1/dead/redrive"
	for _, test := range []struct {
		method, path, body string
		field, detail      string
	}{
		{http.MethodGet, "/api/v1/dead?taks=x", "", "taks",
			"there is no such parameter: want after, limit, task, media, account, run, print, class, text, since, until"},
		{http.MethodGet, "/api/v1/dead?task=x", "", "task",
			`"x" is not a known task, and no deleted task of this name has dead subtasks`},
		{http.MethodGet, "/api/v1/dead?account=99999", "", "account",
			`"99999" is not a known account, or several platforms have it: give media too, or tulip/20000001`},
		{http.MethodGet, "/api/v1/dead?media=tulip&account=99999", "", "account",
			`"99999" is not a known account of tulip`},
		{http.MethodGet, "/api/v1/dead?run=x", "", "run", `"x" is refused: want the id of a run`},
		{http.MethodGet, "/api/v1/dead?since=yesterday", "", "since",
			`"yesterday" is refused: want a time such as 2026-11-21T10:30:00Z`},
		{http.MethodGet, "/api/v1/dead?until=2026-11-21", "", "until",
			`"2026-11-21" is refused: want a time such as 2026-11-21T10:30:00Z`},
		{http.MethodGet, "/api/v1/dead?limit=501", "", "limit", `"501" is refused: want 1 to 500`},
		{http.MethodGet, "/api/v1/dead?after=x", "", "after", `"x" is refused: want the value of next in the page before`},
		{http.MethodGet, "/api/v1/dead/groups?after=x", "", "after",
			"there is no such parameter: want limit, task, media, account, run, print, class, text, since, until"},
		{http.MethodGet, "/api/v1/dead/subtask?account_id=0&part=x", "", "run",
			"is missing: want the run_id of a dead subtask"},
		{http.MethodGet, "/api/v1/dead/subtask?run=1&account_id=0", "", "part",
			"is missing: want the part of a dead subtask"},
		{http.MethodPost, drop, `{}`, "scope", `is missing: want a filter, or "scope": "all" for every dead subtask`},
		{http.MethodPost, drop, `{"until": "2026-11-21T10:30:00Z"}`, "scope",
			`is missing: want a filter, or "scope": "all" for every dead subtask`},
		{http.MethodPost, redrive, `{"rate": 5}`, "scope",
			`is missing: want a filter, or "scope": "all" for every dead subtask`},
		{http.MethodPost, redrive, `{"all": true, "class": "bug"}`, "scope",
			"does not go with a filter: leave one of the two out"},
		{http.MethodPost, redrive, `{"all": true, "rate": -1}`, "rate",
			"-1 is refused: want 1 to 1000000 subtasks a second, or 0 for what the task says"},
		{http.MethodPost, drop, `{"all": true, "rate": 1}`, "rate",
			"there is no such field: want account, all, class, dry_run, media, print, run, scope, since, task, text, until"},
		{http.MethodPost, drop, `{"Task": "x"}`, "Task", `there is no such field: want "task", in this case`},
		{http.MethodPost, redrive, `{"scope": "every", "class": "bug"}`, "scope",
			`"every" is refused: want "all" for every dead subtask, or a filter`},
		{http.MethodPost, redrive, `{"task": "x"}`, "task",
			`"x" is not a known task, and no deleted task of this name has dead subtasks`},
	} {
		require.Equal(t, []fieldError{{Field: test.field, Detail: test.detail}}, b.refused(test.method, test.path, test.body),
			"%s %s", test.path, test.body)
	}
	for _, path := range []string{drop, redrive} {
		require.Equal(t, http.StatusForbidden, b.call(http.MethodPost, path, `{"all": true}`, viewerToken).Code)
	}
	require.Equal(t, 1, b.count(b.store.Data, "subtask_dead"))
	require.Zero(t, b.count(b.store.Data, "manual_order"))
	require.Zero(t, b.count(b.store.Config, "audit_log"))
}

func TestRerun_RedrivesTheFailedSubtasksOfOneRun(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	run := b.deadRun(diedAt, 1, "tulip.report_daily.account", "x", one, two)
	b.deadRun(diedAt.Add(time.Minute), 1, "tulip.report_daily.account", "x", one)
	rerun := "/api/v1/runs/" + id(run) + "/rerun"

	var plan struct {
		DryRun bool `json:"dry_run"`
		Count  int64
		Tasks  []struct {
			RunID string `json:"run_id"`
		}
	}
	w := b.post(rerun, `{"dry_run": true, "rate": 1}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	decode(t, w.Body.String(), &plan)
	require.True(t, plan.DryRun)
	require.EqualValues(t, 2, plan.Count)
	require.Contains(t, w.Body.String(), `"estimated_seconds":2`)
	require.Zero(t, b.count(b.store.Data, "manual_order"))

	w = b.post(rerun, `{}`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	decode(t, w.Body.String(), &plan)
	require.Len(t, plan.Tasks, 1)
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.Equal(t, plan.Tasks[0].RunID, id(orders[0].RunID))
	require.Equal(t, run, orders[0].Request.Redrive.Filter.RunID)
	require.Equal(t, run, orders[0].Request.Redrive.Origin)
	log := b.auditText()
	require.Len(t, log, 1)
	require.Contains(t, log[0], "otto dead.redrive subtask_dead  > ")

	refusal := func(path string, status int) string {
		w := b.post(path, `{}`)
		require.Equal(t, status, w.Code, w.Body.String())
		return b.problem(w).Detail
	}
	// The leader's work: the run marks the subtasks that it redrives, and deletes them when it is done.
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = 5 WHERE run_id = ?",
		run).Error)
	require.Contains(t, refusal(rerun, http.StatusConflict),
		"A redrive of the 2 failed subtasks of this run is under way: the list of the dead subtasks of run "+id(run))
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("DELETE FROM subtask_dead").Error)
	require.Contains(t, refusal(rerun, http.StatusConflict), "were redriven or dropped already")
	well := task.NewRunID(diedAt.Add(time.Hour))
	b.addRun(ledger.Run{ID: well, TaskID: 1, TaskName: "t", State: task.RunSucceeded, PlannedAt: diedAt,
		CreatedAt: diedAt})
	require.Contains(t, refusal("/api/v1/runs/"+id(well)+"/rerun", http.StatusConflict), "No subtask of run "+id(well)+
		" has failed: its state is succeeded.")
	require.Contains(t, refusal("/api/v1/runs/"+plan.Tasks[0].RunID+"/rerun", http.StatusConflict), "is not made yet")
	require.Contains(t, refusal("/api/v1/runs/7/rerun", http.StatusNotFound), `There is no run "7"`)
	require.Equal(t,
		[]fieldError{{Field: "rate",
			Detail: "-1 is refused: want 1 to 1000000 subtasks a second, or 0 for what the task says"}},
		b.refused(http.MethodPost, rerun, `{"rate": -1}`))
}
