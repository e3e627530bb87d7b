package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer"
)

// addTick adds a tick and, unless the state is empty, its run.
func (b *bench) addTick(taskID int64, plannedAt time.Time, state task.RunState) int64 {
	b.t.Helper()
	id := task.NewRunID(plannedAt)
	err := b.store.Data.Writer(b.t.Context()).Exec(
		"INSERT INTO tick (task_id, planned_at, run_id, made_at) VALUES (?, ?, ?, ?)",
		taskID, sqldb.At(plannedAt), id, sqldb.At(plannedAt.Add(time.Second))).Error
	require.NoError(b.t, err)
	if state != "" {
		b.addRun(ledger.Run{ID: id, TaskID: taskID, TaskName: "t", PlannedAt: plannedAt, CreatedAt: plannedAt, State: state})
	}
	return id
}

func TestTasks_AreListedByNameWithTheirTicks(t *testing.T) {
	t.Parallel()
	off := good(2, "b.off", "tulip.adgroup", "")
	off.Enabled = false
	b := setup(t, off, good(1, "a.on", "tulip.report_daily", `{"level":"account"}`))
	var ids []string
	for i := range 7 {
		state := task.RunSucceeded
		if i == 6 {
			state = "" // the leader has not made the run yet
		}
		ids = append(ids, id(b.addTick(1, now.Add(time.Duration(i-6)*10*time.Minute), state)))
	}
	require.JSONEq(t, `{"tasks": [
	  {"id": "1", "name": "a.on", "status": "good", "enabled": true, "media": "tulip", "handler": "tulip.report_daily",
	   "params": {"level": "account"}, "cron": "*/10 * * * *", "timezone": "Asia/Shanghai", "lane": "normal",
	     "scope": "active",
	   "timeout_seconds": 300, "ttl_seconds": 0, "retry_max": 5, "retry_base_seconds": 10, "overlap": "skip",
	     "catch_up": "latest",
	   "catch_up_window_seconds": 86400, "catch_up_order": "oldest_first", "catch_up_spread_seconds": 0,
	     "concurrency": "parallel",
	   "exclusive_over": "lane", "exclusive_max_seconds": 60, "exclusive_drain_seconds": 60,
	   "fan_out_rate": 0, "revision": 3,
	   "next_ticks": ["2026-11-21T10:40:00Z", "2026-11-21T10:50:00Z", "2026-11-21T11:00:00Z", "2026-11-21T11:10:00Z",
	     "2026-11-21T11:20:00Z"],
	   "last_ticks": [
	     {"planned_at": "2026-11-21T10:30:00Z", "made_at": "2026-11-21T10:30:01Z", "run_id": "`+ids[6]+
		`", "state": "pending"},
	     {"planned_at": "2026-11-21T10:20:00Z", "made_at": "2026-11-21T10:20:01Z", "run_id": "`+ids[5]+
		`", "state": "succeeded"},
	     {"planned_at": "2026-11-21T10:10:00Z", "made_at": "2026-11-21T10:10:01Z", "run_id": "`+ids[4]+
		`", "state": "succeeded"},
	     {"planned_at": "2026-11-21T10:00:00Z", "made_at": "2026-11-21T10:00:01Z", "run_id": "`+ids[3]+
		`", "state": "succeeded"},
	     {"planned_at": "2026-11-21T09:50:00Z", "made_at": "2026-11-21T09:50:01Z", "run_id": "`+ids[2]+
		`", "state": "succeeded"}]},
	  {"id": "2", "name": "b.off", "status": "good", "enabled": false, "media": "tulip", "handler": "tulip.adgroup",
	   "cron": "*/10 * * * *", "timezone": "Asia/Shanghai", "lane": "normal", "scope": "active",
	   "timeout_seconds": 300, "ttl_seconds": 0, "retry_max": 5, "retry_base_seconds": 10, "overlap": "skip",
	     "catch_up": "latest",
	   "catch_up_window_seconds": 86400, "catch_up_order": "oldest_first", "catch_up_spread_seconds": 0,
	     "concurrency": "parallel",
	   "exclusive_over": "lane", "exclusive_max_seconds": 60, "exclusive_drain_seconds": 60,
	   "fan_out_rate": 0, "revision": 3,
	   "next_ticks": [], "last_ticks": []}]}`, b.get("/api/v1/tasks"))
}

func TestTask_OfABadRowShowsAllErrorsAndTheVersionThatRuns(t *testing.T) {
	t.Parallel()
	errs := []*config.FieldError{{Key: "cron", Value: "garbage", Want: "five fields"},
		{Key: "lane", Value: "fast", Want: "a row of lane"}}
	before := good(1, "was.good", "tulip.adgroup", "")
	before.Errors = errs
	b := setup(t, before, producer.Task{Task: task.Task{ID: 2, Name: "never.good"}, Errors: errs})
	const wrong = `[{"field": "cron", "value": "garbage", "want": "five fields"}, {"field": "lane", "value": "fast",
	  "want": "a row of lane"}]`

	require.JSONEq(t, `{"id": "2", "name": "never.good", "status": "unusable", "errors": `+wrong+
		`, "next_ticks": [], "last_ticks": []}`,
		b.get("/api/v1/tasks/never.good"))

	var got map[string]any
	decode(t, b.get("/api/v1/tasks/was.good"), &got)
	require.Equal(t, "last_good", got["status"])
	require.Len(t, got["errors"], 2)
	require.Equal(t, "*/10 * * * *", got["cron"], "the version that runs, not the row")
	require.Len(t, got["next_ticks"], 5)

	w := b.call(http.MethodGet, "/api/v1/tasks/none", "", viewerToken)
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Equal(t,
		`There is no task "none": want one in the list of tasks. If its row was just written, reload the tasks first.`,
		b.problem(w).Detail)
	require.Equal(t, []fieldError{{Field: "name", Detail: "this route takes no parameters"}},
		b.refused(http.MethodGet, "/api/v1/tasks?name=x", ""))
}

func TestReload_ReportsTheChangesAndMakesOtherProducersReload(t *testing.T) {
	t.Parallel()
	kept, changed, broken := good(1, "kept", "tulip.adgroup", ""), good(2, "changed", "tulip.adgroup", ""),
		good(3, "broken", "tulip.adgroup", "")
	b := setup(t, kept, changed, broken, good(4, "removed", "tulip.adgroup", ""))
	b.producer.reload = func() []producer.Task {
		changed.Cron = "5 * * * *"
		broken.Errors = []*config.FieldError{{Key: "timezone", Value: "Mars", Want: "a zone"}}
		never := producer.Task{Task: task.Task{ID: 6, Name: "a.new.bad.one"},
			Errors: []*config.FieldError{{Key: "name", Want: "a name"}}}
		return []producer.Task{kept, changed, broken, good(5, "added", "tulip.adgroup", ""), never}
	}
	w := b.post("/api/v1/tasks/reload", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.JSONEq(t, `{"tasks": 4, "added": ["added"], "changed": ["changed"], "removed": ["removed"], "bad": [
	  {"name": "a.new.bad.one", "status": "unusable", "errors": [{"field": "name", "want": "a name"}]},
	  {"name": "broken", "status": "last_good", "errors": [{"field": "timezone", "value": "Mars", "want": "a zone"}]}],
	    "warnings": []}`, w.Body.String())

	version, err := b.store.TasksVersion(t.Context())
	require.NoError(t, err)
	require.NotZero(t, version, "the other producers watch this version")
	require.Equal(t, []string{"otto tasks.reload cron_task  >"}, b.auditText())

	again := b.post("/api/v1/tasks/reload", "")
	var got struct{ Added, Changed, Removed []string }
	decode(t, again.Body.String(), &got)
	require.Empty(t, got.Added)
	require.Empty(t, got.Changed)
	require.Empty(t, got.Removed)
	require.Contains(t, again.Body.String(), `"added":[]`, "a list, not null")
}
