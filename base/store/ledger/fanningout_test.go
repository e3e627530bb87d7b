package ledger_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// addRuns adds runs that are being fanned out, with the ids from 1 on.
func addRuns(t *testing.T, s *store.Store, runs ...ledger.Run) {
	t.Helper()
	l := storetest.Lead(t, s, "a")
	for i := range runs {
		run := storetest.SomeRun(int64(i+1), storetest.Moment)
		run.TaskID, run.Kind = runs[i].TaskID, runs[i].Kind
		if runs[i].State != "" {
			run.State = runs[i].State
		}
		if runs[i].Media != "" {
			run.Media = runs[i].Media
		}
		if lane := runs[i].Settings.Lane; lane != "" {
			run.Settings.Lane = lane
		}
		runs[i] = run
	}
	require.NoError(t, s.AddRuns(context.Background(), l, runs))
}

func tickOf(taskID int64) ledger.Run { return ledger.Run{TaskID: taskID, Kind: ledger.RunOfTick} }

func orderOf(taskID int64) ledger.Run { return ledger.Run{TaskID: taskID, Kind: ledger.RunOfOrder} }

func in(media, lane string, run ledger.Run) ledger.Run {
	run.Media, run.Settings.Lane = media, lane
	return run
}

func TestFanningOutRuns_TheOldestTickOfEachTaskAndAllOrders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	addRuns(t, s,
		tickOf(1), tickOf(1), tickOf(1), // 1, 2, 3
		tickOf(2), orderOf(2), orderOf(2), tickOf(2), // 4, 5, 6, 7
		in("acme", "slow", tickOf(3)), in("acme", "quick", tickOf(3)), // 8, 9
		in("acme", "slow", orderOf(3)), in("zeta", "slow", orderOf(4)), // 10, 11
		tickOf(5), tickOf(5), // 12, 13
	)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE run SET state = ? WHERE id = 12", string(task.RunRunning)).Error)
	idsOf := func(f ledger.FanOutFilter, limit int) []int64 {
		runs, err := s.FanningOutRuns(ctx, f, limit)
		require.NoError(t, err)
		return runIDs(runs)
	}
	require.Equal(t, []int64{1, 4, 5, 6, 8, 10, 11, 13}, idsOf(ledger.FanOutFilter{}, 10))
	require.Equal(t, []int64{1, 4, 5, 6}, idsOf(ledger.FanOutFilter{}, 2), "two of each kind")

	slow := []ledger.LaneName{{Media: "acme", Lane: "slow"}, {Media: "none", Lane: "none"}}
	require.Equal(t, []int64{1, 4, 5, 6, 11, 13}, idsOf(ledger.FanOutFilter{Lanes: slow}, 10),
		"9 waits for 8, whatever lane it is in")
	require.Equal(t, []int64{8, 10}, idsOf(ledger.FanOutFilter{Lanes: slow, OnlyLanes: true}, 10))
	require.Empty(t, idsOf(ledger.FanOutFilter{OnlyLanes: true}, 10))

	require.Equal(t, []int64{2, 4, 6, 8, 10, 11, 13}, idsOf(ledger.FanOutFilter{PausedRuns: []int64{1, 5}}, 10),
		"a paused run does not block others")
	require.Equal(t, []int64{1, 8, 10, 11, 13}, idsOf(ledger.FanOutFilter{PausedTasks: []int64{2}}, 10))
	require.Equal(t, []int64{1, 4, 5, 6, 11, 13}, idsOf(ledger.FanOutFilter{PausedMedias: []string{"acme"},
		Lanes: []ledger.LaneName{{Media: "none", Lane: "none"}}}, 10))

	next := func(taskID int64, paused ...int64) []int64 {
		runs, err := s.NextTick(ctx, taskID, paused)
		require.NoError(t, err)
		return runIDs(runs)
	}
	require.Equal(t, []int64{4}, next(2))
	require.Equal(t, []int64{7}, next(2, 4))
	require.Equal(t, []int64{13}, next(5))
	require.Empty(t, next(4), "an order is not a tick")
}

// The queue is read each second, and the next tick after each: the ticks that wait behind the first of a task must
// cost nothing.
func TestFanningOutRuns_AreFoundByIndex(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var runs []ledger.Run
	for n := range int64(4000) { // a tenth of them open
		run := tickOf(n%4 + 1)
		if n%50 == 7 {
			run.Kind = ledger.RunOfOrder
		}
		if n < 3600 {
			run.State = task.RunSucceeded
		}
		runs = append(runs, run)
	}
	addRuns(t, s, runs...)
	for pauses, f := range map[string]ledger.FanOutFilter{
		"with pauses":    {PausedRuns: []int64{3700}, PausedTasks: []int64{8}, PausedMedias: []string{"none"}},
		"without pauses": {},
	} {
		for name, sql := range ledger.FanOutSQLs(f, 3, 2000) {
			plan := explain(t, s, sql.Query, sql.Args...)
			if s.Data.Dialect() == sqldb.SQLiteDialect {
				require.Contains(t, plan, "INDEX run_fan_out (state=? AND kind=?", "%s %s", name, pauses)
				continue
			}
			require.Regexp(t, `(?m)^\S+ \S+ run (ref|range) \S+ fan_out `, plan, "%s %s", name, pauses)
			if name == "ticks" {
				require.Contains(t, plan, "Using index for group-by", pauses)
			}
		}
	}
}
