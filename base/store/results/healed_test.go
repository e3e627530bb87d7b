package results_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestHealed_WhenItsWholeScopeWasPulledSince(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	data, config := s.Data.Writer(t.Context()), s.Config.Writer(t.Context())
	for _, row := range [][]any{
		{1, "days", "tulip.report_daily", `{"level":"account","days":7}`}, {2, "list", "tulip.adgroup", `{"mode":"full"}`},
		{3, "flow", "tulip.fund_daily", ""}, {4, "tables", "system.tables", ""},
	} {
		require.NoError(t,
			config.Exec(
				"INSERT INTO cron_task (id, name, media, handler, cron, params) VALUES (?, ?, 'tulip', ?, '* * * * *', ?)",
				row...).Error)
	}
	diedAt := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	cover := func(account int64, report, level string, d day.Day, state results.CoverageState, after time.Duration) {
		at := diedAt.Add(after)
		require.NoError(t,
			data.Exec(
				"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, complete_version, state)"+
					" VALUES (?, ?, ?, ?, 'tulip', ?, ?, ?)",
				account, report, level, d, sqldb.At(at), at.UnixMicro(), state).Error)
	}
	const d1, d2 = day.Day("2026-11-19"), day.Day("2026-11-20")
	cover(1, "report_daily", "account", d1, results.Complete, time.Hour)
	cover(1, "report_daily", "account", d2, results.Complete, time.Hour)
	cover(2, "report_daily", "account", d1, results.Complete, -time.Hour)
	cover(3, "report_daily", "account", d1, results.Suspect, time.Hour)
	cover(4, "report_daily", "adgroup", d1, results.Complete, time.Hour)
	cover(5, "report_daily", "account", d1, results.Complete, time.Hour)
	cover(6, "adgroup", "adgroup", day.Epoch, results.Complete, time.Hour)
	cover(7, "fund_daily", "account", d1, results.Complete, time.Hour)
	cover(8, "adgroup", "adgroup", day.Epoch, results.Complete, -time.Hour)
	require.NoError(t, data.Exec("UPDATE coverage SET pulled_at = ? WHERE account_id = 8",
		sqldb.At(diedAt.Add(time.Hour))).Error)
	cover(9, "adgroup", "adgroup", day.Epoch, results.Complete, -time.Hour)
	var want []task.Key
	for i, c := range []struct {
		name    string
		account int64
		part    string
		taskID  int64
		healed  bool
	}{
		{"all days of it are whole", 1, "2026-11-19..2026-11-20", 1, true},
		{"hours of a day that is whole", 1, "2026-11-20@13", 1, true},
		{"whole before it died", 2, "2026-11-19", 1, false},
		{"suspect", 3, "2026-11-19", 1, false},
		{"another level is whole", 4, "2026-11-19", 1, false},
		{"one of its days is missing", 5, "2026-11-19..2026-11-20", 1, false},
		{"a whole list", 6, "full", 2, true},
		{"another account's list", 7, "full", 2, false},
		{"changes that were pulled since", 8, "changes", 2, true},
		{"a list whose changes alone were pulled since", 8, "full", 2, false},
		{"changes that were pulled before it died alone", 9, "changes", 2, false},
		{"cash flow", 7, "2026-11-19", 3, true},
		{"work of no account", 0, "prune", 4, false},
		{"a deleted task", 1, "2026-11-19", 99, false},
	} {
		k := task.Key{RunID: int64(i + 1), AccountID: c.account, Part: c.part}
		require.NoError(t,
			data.Exec(
				"INSERT INTO subtask_dead (run_id, account_id, part, task_id, media, attempt, error_class, error_print,"+
					" error_text, dead_at)"+
					" VALUES (?, ?, ?, ?, 'tulip', 5, 'transient', ?, ?, ?)", k.RunID, k.AccountID, k.Part, c.taskID, c.name, c.name,
				sqldb.At(diedAt)).Error)
		if c.healed {
			want = append(want, k)
		}
	}
	dead := storetest.ListDead(t, s, task.DeadFilter{})
	healed, err := s.Healed(t.Context(), dead)
	require.NoError(t, err)
	var got []task.Key
	for _, d := range slices.Backward(dead) {
		if healed[d.Key] {
			got = append(got, d.Key)
		}
	}
	require.Equal(t, want, got)

	gone, err := s.Pruner(time.Minute).Healed(t.Context(), diedAt.Add(-time.Second))
	require.NoError(t, err)
	require.Zero(t, gone, "they died later")
	gone, err = s.Pruner(time.Minute).Healed(t.Context(), diedAt)
	require.NoError(t, err)
	require.EqualValues(t, len(want), gone)
	require.Len(t, storetest.ListDead(t, s, task.DeadFilter{}), len(dead)-len(want), "the others stay")
}
