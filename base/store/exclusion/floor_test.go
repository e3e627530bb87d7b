package exclusion_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/exclusion"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func floor(k task.Key, scope task.Over, claim string, ancestors ...int64) exclusion.Floor {
	return exclusion.Floor{Key: k, TaskName: "backup", Media: "acme", Lane: "normal", Scope: scope, Ancestors: ancestors,
		Hold: time.Hour, Drain: time.Hour, Delivery: 1, Claim: claim}
}

func ask(t *testing.T, s *store.Store, want exclusion.Floor) exclusion.Turn {
	t.Helper()
	turn, err := s.AskFloor(t.Context(), want)
	require.NoError(t, err)
	return turn
}

// warm makes it some time ago that consumers began to report.
func warm(t *testing.T, s *store.Store) {
	t.Helper()
	d := s.Data.Dialect()
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE floor_state SET reports_since = "+d.NowPlus(-time.Minute)+
		", reports_until = "+d.NowPlus(time.Minute)).Error)
}

func TestFloors_TheFirstOneHoldsWhenAllAreIdle(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.New(t), t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	run := storetest.NewRun(t, s, now, storetest.Keys(4)...)
	key := func(account int64) task.Key { return run.Outcome(account, 1, task.Waiting).Key }
	first := floor(key(1), task.OverEverything, "a/1", 5, 6)
	turn := ask(t, s, first)
	require.False(t, turn.FrontAt.IsZero())
	require.True(t, turn.HeldAt.IsZero(), "nobody knows yet which consumers live")
	warm(t, s)
	reading, err := s.ReadFloors(ctx)
	require.NoError(t, err)
	require.True(t, reading.Reports)
	require.Equal(t, []exclusion.Floor{turn.Floor}, reading.Floors)

	require.NoError(t, s.ReportFloors(ctx, "n/1", map[int64]int{}))
	require.NoError(t, s.ReportFloors(ctx, "n/2", map[int64]int{turn.ID: 3}))
	outside := run.Outcome(2, 1, task.Deferred)
	outside.Outside = true
	storetest.Apply(t, s, outside)
	want := []exclusion.NotIdle{{Node: "n/1", Unread: true}, {Node: "n/2", Running: 3}, {Running: 1}}
	require.Equal(t, want, ask(t, s, first).NotIdle)
	_, turns, err := s.ListFloors(ctx)
	require.NoError(t, err)
	require.Equal(t, want, turns[0].NotIdle)

	second := floor(key(3), task.OverLane, "b/1")
	require.True(t, ask(t, s, second).FrontAt.IsZero())
	require.NoError(t, s.ReportFloors(ctx, "n/1", map[int64]int{turn.ID: 0}))
	require.NoError(t, s.LeaveFloors(ctx, "n/2"))
	require.True(t, ask(t, s, first).HeldAt.IsZero())
	storetest.Apply(t, s, run.Outcome(2, 1, task.Succeeded))
	held := ask(t, s, first)
	require.False(t, held.HeldAt.IsZero())
	require.Empty(t, held.NotIdle)

	next := first
	next.Delivery, next.Claim = 2, "c/1"
	taken := ask(t, s, next)
	require.Equal(t, held.HeldAt, taken.HeldAt, "its next delivery finds that it holds it")
	require.NoError(t, s.ReleaseFloor(ctx, first.Key, first.Claim), "which the earlier process cannot release")
	require.NoError(t, s.EndFloorWait(t.Context(), next.Key, next.Claim))
	require.True(t, ask(t, s, second).FrontAt.IsZero(), "nor does one that no longer waits, because it is held")
	child := floor(key(4), task.OverLane, "d/1", run.ID+9, first.RunID)
	require.False(t, ask(t, s, child).FrontAt.IsZero(), "the floor above it may wait for it, so it comes first")
	require.NoError(t, s.ReleaseFloor(ctx, child.Key, child.Claim))

	storetest.Apply(t, s, run.Outcome(1, 1, task.Succeeded))
	require.NoError(t, s.ReleaseEnded(ctx))
	require.Equal(t, 1, storetest.RowsIn(t, s, "floor"), "the leader removes those whose subtasks have ended")
	require.False(t, ask(t, s, second).FrontAt.IsZero())
}

func TestFloors_TimesEnd(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	slow := floor(task.Key{RunID: 1, Part: "p"}, task.OverPlatform, "a/1")
	slow.Drain = time.Millisecond
	require.True(t, ask(t, s, slow).HeldAt.IsZero())
	other := floor(task.Key{RunID: 2, Part: "p"}, task.OverEverything, "b/1")
	other.Hold = time.Millisecond
	require.Eventually(t, func() bool { return !ask(t, s, other).FrontAt.IsZero() }, time.Minute, time.Millisecond,
		"one that drains for too long holds up nobody")
	waits := floor(task.Key{RunID: 3, Part: "p"}, task.OverEverything, "c/1")
	require.True(t, ask(t, s, waits).FrontAt.IsZero())
	require.NoError(t, s.EndFloorWait(t.Context(), waits.Key, "d/1"), "another one has asked since")
	require.Equal(t, 3, storetest.RowsIn(t, s, "floor"))
	require.NoError(t, s.EndFloorWait(t.Context(), waits.Key, waits.Claim))
	require.Equal(t, 2, storetest.RowsIn(t, s, "floor"))
	require.True(t, ask(t, s, slow).TooSlow)
	require.Equal(t, 1, storetest.RowsIn(t, s, "floor"))
	warm(t, s)
	require.False(t, ask(t, s, other).HeldAt.IsZero())
	require.Eventually(t, func() bool { return ask(t, s, other).Over }, time.Minute, time.Millisecond)
	require.False(t, ask(t, s, slow).FrontAt.IsZero())
}

// A restored database may lack the one row of floor_state.
func TestFloors_WithoutTheirState(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("DELETE FROM floor_state").Error)
	reading, err := s.ReadFloors(t.Context())
	require.NoError(t, err)
	require.Empty(t, reading.Floors)
	require.False(t, ask(t, s, floor(task.Key{RunID: 1, Part: "p"}, task.OverLane, "a/1")).FrontAt.IsZero())
}
