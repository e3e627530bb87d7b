package producer

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/task"
)

// A run goes on as it was made, whatever becomes of its task meanwhile, also under the next leader.
func TestRun_OutlivesWhatBecomesOfItsTask(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"edited":       "UPDATE cron_task SET lane = 'offline', params = '{\"level\":\"other\"}', scope = 'inactive', cron = '0 5 * * *', retry_max = 1",
		"switched off": "UPDATE cron_task SET enabled = 0",
		"deleted":      "DELETE FROM cron_task",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(25)
			b.addTask("x", "tulip.report", "*/10 * * * *", map[string]any{"params": `{"level":"account"}`})
			tm := b.term()
			tm.settled(t)
			b.clock.add(10 * time.Minute)
			tm.settled(t)
			run := b.runs()[0]
			b.broker.fail = func(write int) error {
				if write == 2 {
					return errors.New("gone away")
				}
				return nil
			}
			require.Error(t, tm.fan(b, run.ID))
			require.EqualValues(t, 10, b.run(run.ID).Cursor)
			b.exec(b.store.Config, change)
			require.NoError(t, b.tasks.Reload(t.Context()))
			tm.settled(t)

			require.NoError(t, b.term().fan(b, run.ID))
			after := b.run(run.ID)
			require.Equal(t, task.RunRunning, after.State)
			require.EqualValues(t, 25, *after.Total)
			require.Equal(t, run.Settings, after.Settings)
			for _, e := range b.broker.envelopes(t) {
				require.Equal(t, "normal", e.Lane)
				require.Equal(t, 5, e.RetryMax)
			}
			b.end(after, task.Succeeded)
			require.Equal(t, task.RunSucceeded, b.run(run.ID).State)
			require.Len(t, b.runs(), 1)
		})
	}
}

// The tick of a task that was edited, switched off or deleted before its run was made.
func TestRun_OfATickWhoseTaskIsNoMoreWhatItWas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		state  task.RunState
		lane   string
	}{
		"edited":       {"UPDATE cron_task SET lane = 'offline'", task.RunFanningOut, "offline"},
		"switched off": {"UPDATE cron_task SET enabled = 0", task.RunFanningOut, "normal"},
		"deleted":      {"DELETE FROM cron_task", task.RunCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.addTask("x", "tulip.report", "*/10 * * * *", nil)
			tm := b.term()
			tm.settled(t)
			tick := store.Tick{TaskID: id, PlannedAt: start.Add(time.Minute), RunID: task.NewRunID(start), MadeAt: start}
			require.NoError(t, b.store.AddTicks(t.Context(), tm.lease, []store.Tick{tick}))
			b.exec(b.store.Config, tt.change)
			require.NoError(t, b.term().planRuns(t.Context()))
			run := b.run(tick.RunID)
			require.Equal(t, tt.state, run.State)
			require.Equal(t, tt.lane, run.Settings.Lane)
		})
	}
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
