package producer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/task"
)

// setupWatch returns a leader that has planned tasks with each policy up to 9:00:30, and a producer that only watches.
func setupWatch(t *testing.T) (b *bench, tm *term, missing func() int) {
	t.Helper()
	b = setup(t)
	for _, policy := range []string{"all", "latest", "none"} {
		b.addTask(policy, "tulip.report", "*/10 * * * *", map[string]any{"catch_up": policy, "catch_up_window_seconds": 3600})
	}
	tm = b.term()
	tm.settled(t)
	looks := b.another()
	require.NoError(t, looks.tasks.Reload(t.Context()))
	w := newLedgerWatch(looks)
	return b, tm, func() int {
		t.Helper()
		n, err := w.missingTicks(t.Context())
		require.NoError(t, err)
		return n
	}
}

func TestMissingTicks_CountsWhatNobodyMade(t *testing.T) {
	t.Parallel()
	b, _, missing := setupWatch(t)
	require.Zero(t, missing())
	b.clock.add(11 * time.Minute) // 9:11:30
	require.Zero(t, missing(), "9:10 may still be made")
	b.clock.add(time.Minute)
	require.Equal(t, 2, missing(), "9:10 of all and of latest")
	b.clock.add(20 * time.Minute)
	require.Equal(t, 4, missing(), "9:10 to 9:30 of all, 9:30 of latest")
	b.clock.add(2 * time.Hour)
	require.Equal(t, 7, missing(), "those of an hour, and the last")
	b.term().settled(t)
	require.Zero(t, missing())
	b.clock.add(12 * time.Minute)
	require.Equal(t, 2, missing())
}

func TestMissingTicks_SeesAHole(t *testing.T) {
	t.Parallel()
	b, tm, missing := setupWatch(t)
	for range 3 {
		b.clock.add(10 * time.Minute)
		tm.settled(t)
	}
	b.clock.add(5 * time.Minute)
	require.Zero(t, missing())
	b.exec(b.store.Data, "DELETE FROM tick WHERE planned_at = '2026-11-21 09:20:00.000'")
	require.Zero(t, missing(), "what was seen to be complete is not looked at again")
	fresh := newLedgerWatch(b.Producer)
	n, err := fresh.missingTicks(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n, "of all; latest has a later one")
	b.clock.add(5 * time.Minute)
	tm.settled(t) // 9:40:30
	b.clock.add(5 * time.Minute)
	n, err = fresh.missingTicks(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n, "it stays missing")
}

func TestMissingTicks_LeavesOutWhatIsNotToBeMade(t *testing.T) {
	t.Parallel()
	b, _, missing := setupWatch(t)
	b.clock.add(12 * time.Minute)
	require.Equal(t, 2, missing())
	now := b.clock.Now()
	pause := task.Stop{ID: 1, Verb: task.Pause, Kind: task.StopMedia, Target: "tulip", TargetName: "tulip", Reason: "r",
		By: "otto", OrderedAt: now, Until: now.Add(time.Hour)}
	require.NoError(t, b.store.AddStop(t.Context(), pause))
	require.Zero(t, missing(), "what is paused")
	b.exec(b.store.Data, "DELETE FROM stop_order")
	require.Equal(t, 2, missing())
	require.NoError(t, b.store.PutTaskSchedules(t.Context(), b.term().lease,
		[]settings.TaskSchedule{{TaskID: 1, Hash: "another", Since: start}}))
	require.Equal(t, 1, missing(), "a schedule that no leader has seen")
}
