package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
)

// origin adds a run with an open subtask of no account, and returns it as the field under.
func (b *bench) origin(part string) (runID int64, under string) {
	b.t.Helper()
	runID = task.NewRunID(now)
	one := int64(1)
	b.addRun(ledger.Run{ID: runID, TaskID: 9, TaskName: "planner", Kind: ledger.RunOfTick, State: task.RunRunning,
		Total: &one, PlannedAt: now, CreatedAt: now})
	require.NoError(b.t, b.store.EnsureLogTable(b.t.Context(), task.LogDay(runID)))
	require.NoError(b.t, b.store.Data.Writer(b.t.Context()).Exec("INSERT INTO "+ledger.LogTable(runID)+
		" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, 0, ?, 'deferred', 1, 0, ?)", runID,
		part, sqldb.At(now)).Error)
	return runID, fmt.Sprintf(`{"run_id": "%d", "part": %q, "name": "sales"}`, runID, part)
}

// ordered places an order, which must be taken.
func (b *bench) ordered(body string) (o client.Order) {
	b.t.Helper()
	w := b.post(dailyRun, body)
	require.Equal(b.t, http.StatusAccepted, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &o)
	return o
}

func TestOrder_UnderASubtask(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	runID, under := b.origin("plan")
	body := `{"accounts": ["9001"], "params": {"days": 3}, "under": ` + under + `}`

	order := b.ordered(body)
	require.JSONEq(t, `{"days": 3}`, string(order.Params))
	again := b.ordered(body)
	require.Equal(t, order.RunID, again.RunID, "a repeated order is the first one")
	require.Equal(t, 1, b.count(b.store.Data, "manual_order"))
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, &task.Under{Key: task.Key{RunID: runID, Part: "plan"}, Name: "sales"}, orders[0].Request.Under)
	require.Equal(t, []int64{runID}, orders[0].Request.Ancestors)

	shown := answerOf[client.Run](b, http.MethodGet, "/api/v1/runs/"+id(runID), "")
	require.Equal(t, client.RunsUnder{Runs: 1, Open: 1}, shown.RunsUnder)
	child := ledger.Run{ID: orders[0].RunID, TaskID: 1, TaskName: "tulip.report_daily.account", Kind: ledger.RunOfOrder,
		State: task.RunRunning, PlannedAt: now, CreatedAt: now, Settings: task.Settings{Order: &orders[0].Request}}
	b.addRun(child)
	list := answerOf[client.RunList](b, http.MethodGet, "/api/v1/runs?under="+id(runID), "")
	require.Len(t, list.Runs, 1)
	require.Equal(t, order.RunID, list.Runs[0].ID)
	require.Equal(t, id(runID), list.Runs[0].Order.Under.RunID)
	require.EqualValues(t, 1, list.Runs[0].Order.Depth)
	require.JSONEq(t, `{"days": 3}`, string(list.Runs[0].Order.Params))

	refused := func(body string, status int, why string) {
		w := b.post(dailyRun, body)
		require.Equal(t, status, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(), why)
	}
	refused(`{"accounts": ["9001"], "params": {"days": 4}, "under": `+under+`}`, http.StatusConflict,
		"another order with the name")
	refused(`{"accounts": ["9001"], "under": {"run_id": "`+id(runID)+`", "part": "other"}}`, http.StatusConflict,
		"is not open: only open subtasks order runs")
	refused(`{"accounts": ["9001"], "under": {"run_id": "7x"}}`, http.StatusUnprocessableEntity, "under.run_id")
	refused(`{"accounts": ["9001"], "under": {"part": "plan"}}`, http.StatusUnprocessableEntity, "run_id")
}

func TestOrder_RefusesParams(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	for _, c := range []struct{ params, field string }{
		{`{"dais": 3}`, "params.dais"},
		{`{"days": "3"}`, "params.days"},
		{`7`, "params"},
	} {
		errs := b.refused(http.MethodPost, dailyRun, `{"accounts": ["9001"], "params": `+c.params+`}`)
		require.Equal(t, c.field, errs[0].Field, errs)
	}
	require.Zero(t, b.count(b.store.Data, "manual_order"))
}

func TestRedrive_OfRunsWithParams(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	own := b.deadRun(diedAt, 1, "tulip.report_daily.account", "a", 1, 2)
	b.deadRun(diedAt, 1, "tulip.report_daily.account", "a", 3)
	order := &task.Order{Params: []byte(`{"days":3}`)}
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE run SET own_params = ?, settings = ? WHERE id = ?",
		order.OwnParams(), `{"order": {"params": {"days":3}}}`, own).Error)

	w := b.post("/api/v1/dead/redrive", `{"print": "a"}`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	var plan client.Redrive
	decode(t, w.Body.String(), &plan)
	require.EqualValues(t, 3, plan.Count)
	require.Len(t, plan.Tasks, 2)
	require.JSONEq(t, `{"days":3}`, string(plan.Tasks[0].Params))
	require.EqualValues(t, 2, plan.Tasks[0].Count)
	require.Empty(t, plan.Tasks[1].Params)
	require.EqualValues(t, 1, plan.Tasks[1].Count)
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, orders, 2)
	byParams := map[string]ledger.RunOrder{}
	for _, o := range orders {
		byParams[string(o.Request.Params)] = o
	}
	require.Equal(t, own, byParams[`{"days":3}`].Request.Redrive.Origin)
	require.Zero(t, byParams[""].Request.Redrive.Origin)
}
