package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/producer"
)

const (
	tasksPath = "/api/v1/tasks"
	dailyTask = tasksPath + "/tulip.report_daily.account"
)

// shownTask has the fields of a task that the tests check.
type shownTask struct {
	Name        string
	Status      string
	Enabled     bool
	Cron        string
	Params      map[string]any
	After       []string
	RetryMax    int   `json:"retry_max"`
	Timeout     int   `json:"timeout_seconds"`
	Revision    int64 `json:"revision"`
	RowRevision int64 `json:"row_revision"`
}

func (b *bench) shown(path string) (t shownTask) {
	b.t.Helper()
	decode(b.t, b.get(path), &t)
	return t
}

// withoutTicks returns a task without its ticks, which change with the clock.
func (b *bench) withoutTicks(text string) map[string]any {
	b.t.Helper()
	var task map[string]any
	decode(b.t, text, &task)
	require.Len(b.t, task["next_ticks"], 5)
	for _, name := range []string{"next_ticks", "last_ticks"} {
		require.Contains(b.t, task, name)
		delete(task, name)
	}
	return task
}

// taskOf returns a producer's version of a task.
func taskOf(p *producer.Producer, name string) producer.Task {
	for _, t := range p.Tasks() {
		if t.Name == name {
			return t
		}
	}
	return producer.Task{}
}

func TestTask_IsCreatedAndRunsAtItsNextTick(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	other := b.another()
	w := b.call(http.MethodPost, tasksPath,
		`{"name": "tulip.adgroup.often", "media": "tulip", "handler": "tulip.adgroup", "cron": "* * * * * *",
	  "timeout_seconds": 60, "lane": "important"}`, adminToken)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.Equal(t, tasksPath+"/tulip.adgroup.often", w.Header().Get("Location"))
	require.Equal(t, b.withoutTicks(w.Body.String()), b.withoutTicks(b.get(w.Header().Get("Location"))))
	task := b.shown(w.Header().Get("Location"))
	require.Equal(t, shownTask{Name: "tulip.adgroup.often", Status: "good", Enabled: true, Cron: "* * * * * *",
		RetryMax: 5, Timeout: 60, Revision: 1}, task)

	require.Eventually(t, func() bool { return taskOf(other, task.Name).Usable }, 20*time.Second, 20*time.Millisecond,
		"the other producer loads it within seconds")
	require.Eventually(t, func() bool {
		b.topics.mu.Lock()
		defer b.topics.mu.Unlock()
		return len(b.topics.sent) > 0
	}, 20*time.Second, 20*time.Millisecond, "it runs")

	again := b.call(http.MethodPost, tasksPath, `{"name": "tulip.adgroup.often"}`, adminToken)
	require.Equal(t, http.StatusConflict, again.Code)
	require.Contains(t, b.problem(again).Detail, "edit it, or give the new task another name")
	log := b.auditText()
	require.Len(t, log, 1)
	require.Contains(t, log[0],
		`ada task.create cron_task/tulip.adgroup.often  > {"name":"tulip.adgroup.often","media":"tulip"`)
}

func TestTask_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	tests := []struct {
		name, method, path, body string
		want                     []fieldError
	}{
		{
			"all errors that loading the row would find", http.MethodPost, tasksPath,
			`{"name": "a b", "media": "tulip", "handler": "tulip.adgroup", "cron": "every day", "lane": "fast",
			  "timezone": "Mars", "retry_max": 500, "params": {"x": 1}}`,
			[]fieldError{
				{Field: "name", Detail: `"a b" is refused: want up to 96 letters`},
				{Field: "timezone", Detail: `"Mars" is refused: want `},
				{Field: "params", Detail: `"{\"x\":1}" is refused: want `},
				{Field: "lane", Detail: `"fast" is refused: want a name that the table lane has a row for`},
				{Field: "retry_max", Detail: `"500" is refused: want a whole number from 0 to 100`},
			},
		},
		{"a malformed cron", http.MethodPatch, dailyTask, `{"revision": 1, "cron": "every day"}`,
			[]fieldError{{Field: "cron", Detail: `"every day" is refused: want five fields`}}},
		{"a step beyond its field", http.MethodPatch, dailyTask, `{"revision": 1, "cron": "*/90 * * * *"}`,
			[]fieldError{{Field: "cron", Detail: `"*/90 * * * *" is refused: want a step below 60 in the minute "*/90"`}}},
		{"an unknown task", http.MethodPatch, dailyTask, `{"revision": 1, "cron": "", "after": ["none"]}`,
			[]fieldError{{Field: "after", Detail: `"none" is refused: want names of tasks: there is none called none`}}},
		{"itself", http.MethodPatch, dailyTask, `{"revision": 1, "cron": "", "after": ["tulip.report_daily.account"]}`,
			[]fieldError{{Field: "after", Detail: `"tulip.report_daily.account" is refused: want other tasks`}}},
		{"a value too long for its column", http.MethodPatch, dailyTask, `{"revision": 1, "cron": "` +
			strings.Repeat("1,", 70) + `1 * * * *"}`,
			[]fieldError{{Field: "cron", Detail: "has 149 characters: want up to 128"}}},
		{"no revision", http.MethodPatch, dailyTask, `{"cron": "5 * * * *"}`,
			[]fieldError{{Field: "revision", Detail: "is missing: want the revision with which "}}},
		{"an unknown field", http.MethodPatch, dailyTask, `{"revision": 1, "crom": "5 * * * *"}`,
			[]fieldError{{Field: "crom", Detail: "there is no such field"}}},
		{"a name, which stays", http.MethodPatch, dailyTask, `{"revision": 1, "name": "other"}`,
			[]fieldError{{Field: "name", Detail: "there is no such field"}}},
		{"a text for a number", http.MethodPatch, dailyTask, `{"revision": 1, "retry_max": "5"}`,
			[]fieldError{{Field: "retry_max", Detail: "want a number, got string"}}},
	}
	for _, test := range tests {
		w := b.call(test.method, test.path, test.body, adminToken)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %s", test.name, w.Body.String())
		got := b.problem(w).Errors
		require.Len(t, got, len(test.want), "%s: %v", test.name, got)
		for i, want := range test.want {
			require.Equal(t, want.Field, got[i].Field, test.name)
			require.True(t, strings.HasPrefix(got[i].Detail, want.Detail), "%s: %s", test.name, got[i].Detail)
		}
	}
	require.Equal(t, http.StatusNotFound, b.call(http.MethodPatch, tasksPath+"/none", `{"revision": 1}`, adminToken).Code)
	require.Empty(t, b.auditText(), "nothing was saved")
	require.EqualValues(t, 1, b.shown(dailyTask).Revision)
}

// Two tasks that wait for each other: the second one is refused before it is saved.
func TestTask_ThatWouldWaitForItselfIsRefused(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	w := b.call(http.MethodPost, tasksPath,
		`{"name": "second", "media": "tulip", "handler": "tulip.adgroup", "after": ["tulip.report_daily.account"]}`,
		adminToken)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	w = b.call(http.MethodPatch, dailyTask, `{"revision": 1, "cron": "", "after": ["second"]}`, adminToken)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
	require.Equal(t, "after", b.problem(w).Errors[0].Field)
	require.Contains(t, b.problem(w).Errors[0].Detail, "tasks that do not wait for this one")
}

func TestTask_AnEditNeedsTheCurrentRevision(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	other := b.another()
	w := b.call(http.MethodPatch, dailyTask,
		`{"revision": 1, "cron": "5 * * * *", "params": {"level": "account", "days": 3}, "retry_max": 2}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	task := b.shown(dailyTask)
	require.Equal(t, "5 * * * *", task.Cron, "at once")
	require.Equal(t, map[string]any{"level": "account", "days": 3.0}, task.Params)
	require.EqualValues(t, 2, task.Revision)
	require.Eventually(t, func() bool { return taskOf(other, task.Name).Revision == 2 }, 20*time.Second,
		20*time.Millisecond, "the other producer loads it within seconds")

	w = b.call(http.MethodPatch, dailyTask, `{"revision": 1, "retry_max": 9}`, adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, b.problem(w).Detail, `now has the revision 2, not 1`)

	// An edit by SQL that this process has not loaded yet.
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET retry_max = 7, revision = 9").Error)
	w = b.call(http.MethodPatch, dailyTask, `{"revision": 2, "retry_max": 9}`, adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.EqualValues(t, 9, b.shown(dailyTask).Revision, "the refusal has made this process load it")
	w = b.call(http.MethodPatch, dailyTask, `{"revision": 9, "retry_max": 9}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, []string{
		`ada task.edit cron_task/tulip.report_daily.account ` +
			`{"cron":"0 0 1 1 *","params":"{\"level\":\"account\"}","retry_max":5,"revision":1} > ` +
			`{"cron":"5 * * * *","params":"{\"level\":\"account\",\"days\":3}","retry_max":2,"revision":2}`,
		`sql row.update cron_task/tulip.report_daily.account {"retry_max":2,"revision":2} > {"retry_max":7,"revision":9}`,
		`ada task.edit cron_task/tulip.report_daily.account {"retry_max":7,"revision":9} > {"retry_max":9,"revision":10}`,
	}, b.auditText())
}

func TestTask_AProbablyWrongCronIsWarnedOf(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	const warning = `minute "*/7": the step 7 does not divide the field's 60 values, ` +
		`so that one pause of each round differs from the others`
	w := b.call(http.MethodPatch, dailyTask, `{"revision": 1, "cron": "*/7 * * * *"}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var task struct{ Warnings []string }
	decode(t, w.Body.String(), &task)
	require.Equal(t, []string{warning}, task.Warnings)
	decode(t, b.get(dailyTask), &task)
	require.Equal(t, []string{warning}, task.Warnings)

	// Rows that are edited by SQL get the same warning.
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET cron = '*/50 3 * * *', revision = 7").Error)
	var reload struct {
		Bad      []struct{ Name string }
		Warnings []struct {
			Name     string
			Warnings []string
		}
	}
	decode(t, b.post(tasksPath+"/reload", "").Body.String(), &reload)
	require.Empty(t, reload.Bad)
	require.Len(t, reload.Warnings, 1)
	require.Contains(t, reload.Warnings[0].Warnings[0], `minute "*/50"`)
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET cron = '*/60 3 * * *', revision = 8").Error)
	decode(t, b.post(tasksPath+"/reload", "").Body.String(), &reload)
	require.Len(t, reload.Bad, 1)
	require.Equal(t, "last_good", b.shown(dailyTask).Status, "the task still runs with its last good settings")
}

func TestTask_AnEditThatChangesNothingLeavesNoEntry(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	w := b.call(http.MethodPatch, dailyTask, `{"revision": 1, "params": {"level": "account", "days": 3}}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	entries := func() (n int) {
		t.Helper()
		require.NoError(t, b.store.Config.Writer(t.Context()).Raw("SELECT COUNT(*) FROM audit_log").Row().Scan(&n))
		return n
	}
	before := entries()
	for _, body := range []string{`{"revision": 2}`, `{"revision": 2, "params": {"days": 3, "level": "account"}}`,
		`{"revision": 2, "params": { "level":"account","days" : 3 }, "enabled": true}`} {
		w = b.call(http.MethodPatch, dailyTask, body, adminToken)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.EqualValues(t, 2, b.shown(dailyTask).Revision, body)
	}
	require.Equal(t, before, entries())
}

func TestTask_IsSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	for range 2 { // The second call changes nothing.
		w := b.post(dailyTask+"/disable", "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.False(t, b.shown(dailyTask).Enabled)
	}
	require.Equal(t, http.StatusOK, b.post(dailyTask+"/enable", "").Code)
	require.True(t, b.shown(dailyTask).Enabled)
	require.Equal(t, http.StatusNotFound, b.post(tasksPath+"/none/enable", "").Code)
	require.Equal(t, []string{
		`otto task.disable cron_task/tulip.report_daily.account {"enabled":1,"revision":1} > {"enabled":0,"revision":2}`,
		`otto task.enable cron_task/tulip.report_daily.account {"enabled":0,"revision":2} > {"enabled":1,"revision":3}`,
	}, b.auditText())
}

// A row that an edit by SQL has broken can be switched off unchanged, and corrected by an edit that names the row's
// revision.
func TestTask_ABadRowIsSwitchedOffAndCorrected(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET cron = 'garbage', revision = 5").Error)
	require.Equal(t, http.StatusOK, b.post(tasksPath+"/reload", "").Code)
	task := b.shown(dailyTask)
	require.Equal(t, "last_good", task.Status)
	require.EqualValues(t, 5, task.RowRevision)
	require.EqualValues(t, 1, task.Revision, "the revision that runs")

	require.Equal(t, http.StatusOK, b.post(dailyTask+"/disable", "").Code)
	require.False(t, b.shown(dailyTask).Enabled)
	require.Equal(t, http.StatusUnprocessableEntity, b.post(dailyTask+"/enable", "").Code,
		"it cannot be switched on while it has errors")
	w := b.call(http.MethodPatch, dailyTask, `{"revision": 6, "cron": "5 * * * *", "enabled": true}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	task = b.shown(dailyTask)
	require.Equal(t, "good", task.Status)
	require.True(t, task.Enabled)
	require.EqualValues(t, 7, task.Revision)
}

// With two producers and a restart, an edit by SQL is in the audit log once, and so is an edit over the API.
func TestAudit_RecordsEditsBySQLOnceUnderAnyLeader(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	require.Equal(t, http.StatusOK, b.post(tasksPath+"/reload", "").Code, "the rows are known")
	b.first.Stop() // It looks for edits by SQL soon after it became the leader, and must not find these.
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec("UPDATE lane SET pool_size = 11 WHERE name = 'normal'").Error)
	require.Equal(t, http.StatusOK, b.call(http.MethodPatch, dailyTask, `{"revision": 1, "retry_max": 2}`,
		adminToken).Code)
	second := b.another() // A new leader looks at once.
	require.Eventually(t, func() bool { return len(b.auditText()) == 3 }, 30*time.Second, 20*time.Millisecond)
	second.Stop()
	b.another()
	require.Equal(t, http.StatusOK, b.post(tasksPath+"/reload", "").Code)
	require.Equal(t, []string{
		"otto tasks.reload cron_task  >",
		`ada task.edit cron_task/tulip.report_daily.account {"retry_max":5,"revision":1} > {"retry_max":2,"revision":2}`,
		`sql row.update lane/*/normal {"pool_size":32} > {"pool_size":11}`,
		"otto tasks.reload cron_task  >",
	}, b.auditText())

	var page struct {
		Audit []struct {
			ID, Actor, Action, Object string
			Before, After             map[string]any
		}
		Next string
	}
	decode(t, b.get("/api/v1/audit?limit=2"), &page)
	require.Len(t, page.Audit, 2)
	require.Equal(t, map[string]any{"pool_size": 32.0}, page.Audit[1].Before)
	require.Equal(t, map[string]any{"pool_size": 11.0}, page.Audit[1].After)
	require.Equal(t, page.Audit[1].ID, page.Next)
	decode(t, b.get("/api/v1/audit?limit=2&after="+page.Next), &page)
	require.Equal(t, "task.edit", page.Audit[0].Action)
	require.Empty(t, page.Next)
	decode(t, b.get("/api/v1/audit?actor=sql&object=lane&since=2026-01-01T00:00:00Z"), &page)
	require.Len(t, page.Audit, 1)
	decode(t, b.get("/api/v1/audit?until=2020-01-01T00:00:00Z"), &page)
	require.Empty(t, page.Audit)
	require.Equal(t, []fieldError{
		{Field: "since", Detail: `"now" is refused: want a time such as 2026-11-21T10:30:00Z`},
		{Field: "after", Detail: `"x" is refused: want the value of next in the page before`},
	}, b.refused(http.MethodGet, "/api/v1/audit?since=now&after=x", ""))
}
