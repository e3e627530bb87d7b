package producer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

func TestTakeOrders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	tm := b.term()
	id := b.addTask("young", "tulip.report", "0 0 * * *", map[string]any{"enabled": 0})
	good := tm.order(b, id, task.Order{By: "otto"})
	require.Equal(t, "young", b.run(good).TaskName, "a task that is younger than the last reload, and switched off")
	unknown := tm.order(b, 999, task.Order{})
	run := b.run(unknown)
	require.Equal(t, task.RunFailed, run.State)
	require.Contains(t, run.ErrorText, "no usable task with id 999")
	b.exec(b.store.Data,
		"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at) VALUES (7, ?, 'x', 'x', '2026-11-21 "+
			"00:00:00')", id)
	require.NoError(t, tm.takeOrders(ctx))
	require.Equal(t, task.RunFailed, b.run(7).State)
	require.Contains(t, b.run(7).ErrorText, "cannot be read")

	// A row written by hand without accounts, or with malformed ones, must not become an order of the whole scope.
	for i, bad := range []struct{ request, why string }{
		{"null", "is null: want an object"},
		{"{}", `accounts: none is named: want accounts, or "scope": "all" for the task's whole scope`},
		{`{"by": "otto", "from": "2026-11-20", "to": "2026-11-20"}`, "accounts: none is named"},
		{`{"accounts": [1], "accounts": []}`, "accounts: is given twice"},
		{`{"Accounts": [1]}`, `Accounts: there is no such field: want "accounts"`},
		{`{"accounts": null, "scope": "all"}`, "accounts: is null"},
		{`{"accounts": ["1"]}`, "accounts: want a number, got string"},
		{`{"accounts": [1], "scope": "all"}`, "scope: does not go with accounts"},
		{`{"scope": "active"}`, `scope: "active" is refused: want "all", or accounts`},
		{`{"acounts": [1], "scope": "all"}`, "acounts: there is no such field"},
		{`{"scope": "all"} {}`, "continues after its value"},
	} {
		b.exec(b.store.Data,
			"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at) VALUES (?, ?, ?, 'x', '2026-11-21 "+
				"00:00:00')", 10+i, id, bad.request)
		require.NoError(t, tm.takeOrders(ctx))
		require.Equal(t, task.RunFailed, b.run(int64(10+i)).State, bad.request)
		require.Contains(t, b.run(int64(10+i)).ErrorText, bad.why, bad.request)
	}
	b.exec(b.store.Data, "DELETE FROM manual_order WHERE run_id >= 10 AND run_id < 100")
	b.exec(b.store.Data, "DELETE FROM run WHERE id >= 10 AND id < 100")

	// A leader that died between the run and the mark: the next one makes no second run.
	b.exec(b.store.Data, "UPDATE manual_order SET taken = 0")
	require.NoError(t, b.term().takeOrders(ctx))
	require.Len(t, b.runs(), 3)
	open, err := b.store.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestTakeOrders_ForATaskThatIsGoneOrOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	off := b.addTask("off", "tulip.report", "*/10 * * * *", map[string]any{"enabled": 0})
	gone := b.addTask("gone", "tulip.report", "*/10 * * * *", nil)
	tm := b.term()
	b.exec(b.store.Config, "DELETE FROM cron_task WHERE name = 'gone'")
	require.NoError(t, b.tasks.Reload(t.Context()))
	require.Equal(t, task.RunFanningOut, b.run(tm.order(b, off, task.Order{By: "otto"})).State, "an order is an order")
	refused := b.run(tm.order(b, gone, task.Order{By: "otto"}))
	require.Equal(t, task.RunFailed, refused.State)
	require.Contains(t, refused.ErrorText, "no usable task")
}

func TestTakeOrders_ChangesTheParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(1)
	id := b.addTask("daily", "tulip.report", "0 0 1 1 *", map[string]any{"params": `{"level":"account"}`})
	serial := b.addTask("serial", "tulip.report", "0 0 1 1 *", map[string]any{"params": `{"level":"account"}`,
		"concurrency": "serial", "serial_key": "{level}"})
	tidy := b.addTask("tidy", "system.tidy", "0 0 1 1 *", map[string]any{"media": "system"})
	tm := b.term()
	params := func(taskID int64, patch string) ledger.Run {
		return b.run(tm.order(b, taskID, task.Order{Scope: task.ScopeAll, By: "otto", Params: json.RawMessage(patch)}))
	}
	run := params(id, `{"level":"creative"}`)
	require.Equal(t, task.RunFanningOut, run.State)
	require.JSONEq(t, `{"level":"creative"}`, string(run.Settings.Params))
	require.NoError(t, tm.fan(b, run.ID))
	require.JSONEq(t, `{"level":"creative"}`, string(b.broker.log[0].Value), "the subtask's message has the run's params")

	for _, c := range []struct {
		taskID     int64
		patch, why string
	}{
		{id, `{"level":7}`, "params.level: want a string, got number"},
		{id, `{"days":7}`, "params.days: there is no such field"},
		{id, `7`, "want an object, got number"},
		{serial, `{"level":null}`, "params: do not fit the serial_key of the task: {level}: the params have no field"},
		{tidy, `{"level":"account"}`, "params: this task has none"},
	} {
		run := params(c.taskID, c.patch)
		require.Equal(t, task.RunFailed, run.State, c.patch)
		require.Contains(t, run.ErrorText, c.why, c.patch)
	}
}
