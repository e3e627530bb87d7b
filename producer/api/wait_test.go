package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

func TestAccountWaits_AreThoseOfItsOpenSubtasks(t *testing.T) {
	t.Parallel()
	b := setup(t, daily(), good(2, "gone", "tulip.report_daily", `{"level":"account"}`))
	one, two := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	older := b.deadRun(now.Add(-25*time.Hour), 1, dailyName, "code 7", one)
	b.addWaiting(older, one, task.Retrying, "", now.Add(time.Minute))
	newer := b.deadRun(now.Add(-time.Hour), 2, "gone", "code 8", one, two)
	b.addWaiting(newer, one, task.Deferred, "pause:77", now.Add(2*time.Minute))
	b.addWaiting(newer, two, task.Retrying, "", now.Add(time.Minute))
	ended := b.deadRun(now, 1, dailyName, "code 9", one)
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE run SET state = 'failed' WHERE id = ?", ended).Error)
	type answer struct {
		Account struct {
			ExternalID string `json:"external_id"`
		}
		Subtasks []struct {
			RunID                     string `json:"run_id"`
			Task, Part, State, Reason string
			ExpectedAt                time.Time `json:"expected_at"`
		}
		More bool
	}
	var all, some answer
	const path = "/api/v1/accounts/tulip/9001/wait"
	decode(t, b.get(path), &all)
	require.Equal(t, "9001", all.Account.ExternalID)
	require.Len(t, all.Subtasks, 2)
	require.False(t, all.More)
	first, second := all.Subtasks[0], all.Subtasks[1]
	require.Equal(t, []any{id(newer), "gone", "w", "deferred", now.Add(2 * time.Minute)},
		[]any{first.RunID, first.Task, first.Part, first.State, first.ExpectedAt}, "the newest run first")
	require.Equal(t, []any{id(older), dailyName, "retrying", "the platform is busy"},
		[]any{second.RunID, second.Task, second.State, second.Reason})
	decode(t, b.get(path+"?task="+dailyName), &some)
	require.Len(t, some.Subtasks, 1)
	require.Equal(t, id(older), some.Subtasks[0].RunID)
	require.Equal(t,
		[]fieldError{{Field: "task", Detail: `"nobody" is refused: want the name of a task in the list of tasks`}},
		b.refused(http.MethodGet, path+"?task=nobody", ""))

	for part := range 60 {
		err := b.store.Data.Writer(t.Context()).Exec("INSERT INTO "+ledger.LogTable(newer)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, ?, 'waiting', 1, 0, '2026-11-21 "+
			"09:30:00')",
			newer, one, part).Error
		require.NoError(t, err)
	}
	decode(t, b.get(path), &all)
	require.Len(t, all.Subtasks, 50)
	require.True(t, all.More)
}
