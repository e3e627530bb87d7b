package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
)

func TestTask_IsDeletedAndItsRunsContinue(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	other := b.another()
	var before client.Task
	decode(t, b.get(dailyTask), &before)
	for n, state := range map[int64]task.RunState{100: task.RunRunning, 101: task.RunSucceeded} {
		b.addRun(ledger.Run{ID: n, TaskID: 1, TaskName: before.Name, State: state, Total: new(int64(5)), PlannedAt: now,
			CreatedAt: now})
	}
	b.addRun(ledger.Run{ID: 102, TaskID: 2, TaskName: "other", State: task.RunRunning, Total: new(int64(5)),
		PlannedAt: now, CreatedAt: now})
	require.Equal(t, "1", before.ID)
	w := b.call(http.MethodDelete, dailyTask, "", adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.JSONEq(t, `{"id": "1", "name": "tulip.report_daily.account", "open_runs": ["100"]}`, w.Body.String())
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, dailyTask, "", viewerToken).Code,
		"this process drops it at once")
	require.NoError(t, other.Reload(t.Context()))
	require.Empty(t, other.Tasks())
	var run client.Run
	decode(t, b.get("/api/v1/runs/100"), &run)
	require.EqualValues(t, "running", run.State)
	log := b.auditText()
	require.Len(t, log, 1)
	require.Contains(t, log[0],
		`ada task.delete cron_task/tulip.report_daily.account {"name":"tulip.report_daily.account","media":"tulip"`)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, dailyTask, "", adminToken).Code)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, tasksPath+"/Tulip.report_daily.account", "",
		adminToken).Code)
}

func TestTask_ThatOthersStartAfterIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	for _, body := range []string{
		`{"name": "second", "media": "tulip", "handler": "tulip.adgroup", "after": ["tulip.report_daily.account"]}`,
		`{"name": "third", "media": "tulip", "handler": "tulip.adgroup", "after": ["second", "tulip.report_daily.account"],
		  "enabled": false}`,
	} {
		require.Equal(t, http.StatusCreated, b.call(http.MethodPost, tasksPath, body, adminToken).Code)
	}
	w := b.call(http.MethodDelete, dailyTask, "", adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "Tasks start after this one: second, third. Change their after first, or delete them.",
		b.problem(w).Detail)
	require.Len(t, b.auditText(), 2)
	require.Equal(t, http.StatusOK, b.call(http.MethodDelete, tasksPath+"/third", "", adminToken).Code)
}
