package prune_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// The days of these tests: those before the present one share the first partition.
const (
	longAgo = day.Day("2090-05-01")
	lately  = day.Day("2090-11-21")
)

// prunable returns a store with figures and summaries of a day long ago and of today.
func prunable(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.NewResults(t)
	require.NoError(t, s.EnsurePartitions(t.Context(), longAgo, longAgo.Add(1)))
	require.NoError(t, s.EnsurePartitions(t.Context(), lately, lately.Add(1)))
	for _, on := range []day.Day{longAgo, lately} {
		_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", on),
			storetest.CostRow(on, "", 5_000_000, `{}`)))
		require.NoError(t, err)
	}
	storetest.RebuildSummaries(t, s)
	return s
}

func TestPrune_ARowOnTheBoundaryStays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	before := storetest.Moment.Truncate(time.Second)
	first := task.FirstRunIDAt(before)
	for _, id := range []int64{first - 1, first} {
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at,
  state, epoch, created_at)
VALUES (?, 7, 't', 'acme', 'h', 'normal', 1, '{}', 'tick', ?, 'succeeded', 1, ?)`, id, sqldb.At(before),
				sqldb.At(before)).Error)
	}
	for i, c := range []struct {
		run   int64
		taken int
	}{{first - 1, 1}, {first - 2, 0}, {first, 1}} {
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at, taken)"+
					" VALUES (?, 7, '{}', 'otto', ?, ?)", c.run, sqldb.At(before), c.taken).Error, i)
	}
	_, err := s.Pruner(time.Minute).Runs(ctx, before)
	require.NoError(t, err)
	require.Equal(t, 1, storetest.RowsIn(t, s, "run"))
	require.Equal(t, 1, storetest.RowsIn(t, s, fmt.Sprintf("run WHERE id = %d", first)))
	require.Equal(t, 1, storetest.RowsIn(t, s, fmt.Sprintf("manual_order WHERE run_id = %d", first-2)),
		"an order that is not taken must still be done")
	require.Equal(t, 2, storetest.RowsIn(t, s, "manual_order"))

	for i, at := range []time.Time{before.Add(-time.Millisecond), before} {
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				"INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at)"+
					" VALUES (1, ?, 'adgroup', 'x', 'f', '', '', ?)", at.UnixMicro(), sqldb.At(at)).Error)
		require.NoError(t,
			s.Config.Writer(ctx).Exec("INSERT INTO audit_log (at, actor, action, object) VALUES (?, 'otto', 'a', 'o')",
				sqldb.At(at)).Error)
		for k, state := range []string{"ended", "active"} {
			require.NoError(t,
				s.Data.Writer(ctx).Exec(
					"INSERT INTO stop_order (id, verb, kind, target, target_name, reason, ordered_by, ordered_at, state, ended_at)"+
						" VALUES (?, 'pause', 'media', 'acme', 'acme', '', 'otto', ?, ?, ?)",
					first-10+int64(2*i+k), sqldb.At(before.Add(-time.Hour)), state, sqldb.At(at)).Error)
		}
	}
	gone, err := s.Pruner(time.Minute).Changes(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	require.Equal(t, 1, storetest.RowsIn(t, s, fmt.Sprintf("config_change WHERE version = %d", before.UnixMicro())))
	gone, err = s.Pruner(time.Minute).Audit(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	gone, err = s.Pruner(time.Minute).StopOrders(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone, "active orders stay, and those that ended at the moment")
	require.Equal(t, 2, storetest.RowsIn(t, s, "stop_order WHERE state = 'active'"))
}

// The first kept day is like any other: later pulls reach its summary.
func TestPrune_TheFirstKeptDayStillHasItsSummary(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	p := s.Pruner(time.Minute)
	_, done, err := p.Public(ctx, false, lately)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, 1, storetest.RowsIn(t, s, "report_daily"))
	require.Equal(t, 1, storetest.RowsIn(t, s, "coverage WHERE report = 'report_daily' AND day = '"+string(lately)+"'"))
	_, err = p.Summaries(ctx, lately)
	require.NoError(t, err)
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily"))
	write := func(pull string, d day.Day, cost int64) {
		_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, pull, d),
			storetest.CostRow(d, "", cost, `{"pull":"`+pull+`"}`)))
		require.NoError(t, err)
		require.Equal(t, 1, storetest.RebuildSummaries(t, s))
	}
	write("b", lately, 6_000_000)
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE cost = 6000000"))

	// Retention is made longer again: deleted rows do not come back, and a part of a day does not become its summary.
	require.NoError(t, s.RecordPruned(ctx, "report_daily", lately.Add(-100)))
	write("c", lately.Add(-1), 7_000_000)
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily"))
}

func TestPrune_OfHourlyDaysWaitsForTheirOwnSummaries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	for _, table := range []string{"report_hourly", "report_daily"} {
		hour := map[string]string{"report_hourly": ", hour", "report_daily": ""}[table]
		if table == "report_hourly" {
			require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO report_hourly (day, account_id, level, object_id"+hour+
				", media, currency, day_zone, version, updated_at)"+
				" VALUES (?, 7, 'account', '', 3, 'test', 'CNY', 'Asia/Shanghai', 1, ?)",
				longAgo, sqldb.At(storetest.Moment)).Error)
		}
		require.NoError(t, s.Data.Writer(ctx).Exec("DELETE FROM coverage WHERE report = ?", table).Error)
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				"INSERT INTO coverage (account_id, report, level, day, media, dirty) VALUES (7, ?, 'account', ?, 'test', ?)",
				table, longAgo, map[string]any{"report_hourly": 5, "report_daily": nil}[table]).Error)
	}
	_, done, err := s.Pruner(time.Minute).Public(ctx, true, lately.Add(-30))
	require.NoError(t, err)
	require.False(t, done, "its hours are not in their summary")
	require.Equal(t, 1, storetest.RowsIn(t, s, "report_hourly"))
	_, done, err = s.Pruner(time.Minute).Public(ctx, false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)
}

func TestPrune_ContinuesAfterItsFirstPiece(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	const many = 1003
	storetest.AddRows(t, s.Config, "audit_log (at, actor, action, object)", many,
		func(int) []any { return []any{sqldb.At(storetest.Moment), "otto", "a", "o"} })
	gone, err := s.Pruner(time.Minute).Audit(ctx, storetest.Moment.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, many, gone)

	storetest.AddRows(t, s.Data, storetest.RawReport.Name+" (day, account_id, level, object_id, row_json, version)", many,
		func(i int) []any { return []any{longAgo.Add(1), i, "account", "", "{}", 1} })
	gone, err = s.Pruner(time.Minute).Days(ctx, storetest.RawReport.Name, storetest.RawReport.Key(), lately)
	require.NoError(t, err)
	require.EqualValues(t, many+1, gone)

	// Accounts are read some at a time.
	const accounts = 103
	storetest.AddRows(t, s.Data,
		"config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at)", accounts,
		func(i int) []any {
			return []any{i + 1, 5, "adgroup", "x", "f", "", "", sqldb.At(storetest.Moment)}
		})
	gone, err = s.Pruner(time.Minute).Changes(ctx, storetest.Moment)
	require.NoError(t, err)
	require.EqualValues(t, accounts, gone)
	storetest.AddRows(t, s.Data, "coverage (account_id, report, level, day, media)", accounts,
		func(i int) []any { return []any{100 + i, "report_daily", "creative", longAgo, "test"} })
	storetest.AddRows(t, s.Data, "wide_day (account_id, day, media, mark)", accounts,
		func(i int) []any { return []any{100 + i, longAgo, "test", 1} })
	_, done, err := s.Pruner(time.Minute).Public(ctx, false, lately)
	require.NoError(t, err)
	require.True(t, done)
	require.Zero(t, storetest.RowsIn(t, s, "coverage WHERE day = '"+string(longAgo)+"'"))
	require.Zero(t, storetest.RowsIn(t, s, "wide_day WHERE day = '"+string(longAgo)+"'"))

	// Runs that stay are read once, and those after them go.
	storetest.AddRows(t, s.Data,
		"run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, epoch,"+
			" created_at)", many, func(i int) []any {
			state := "succeeded"
			if i == 3 || i == 1001 {
				state = "running"
			}
			return []any{i + 1, 7, "t", "acme", "h", "normal", 1, "{}", "tick", sqldb.At(storetest.Moment), state, 1,
				sqldb.At(storetest.Moment)}
		})
	gone, err = s.Pruner(time.Minute).Runs(ctx, storetest.Moment)
	require.NoError(t, err)
	require.EqualValues(t, many-2, gone)
}

func TestPrune_OfPublicDaysIsNoChange(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	before := storetest.SummaryVersions(t, s)
	wide := storetest.RowsIn(t, s, "wide_day WHERE dirty IS NOT NULL AND day = '"+string(lately)+"'")
	gone, done, err := s.Pruner(time.Minute).Public(ctx, false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)
	require.Positive(t, gone)
	require.Zero(t, storetest.RowsIn(t, s, "report_daily WHERE day = '"+string(longAgo)+"'"))
	require.Equal(t, 1, storetest.RowsIn(t, s, "report_daily WHERE day = '"+string(lately)+"'"))
	require.Zero(t, storetest.RowsIn(t, s, "coverage WHERE day = '"+string(longAgo)+"'"))
	require.Zero(t, storetest.RowsIn(t, s, "wide_day WHERE day = '"+string(longAgo)+"'"))
	require.Equal(t, wide, storetest.RowsIn(t, s, "wide_day WHERE dirty IS NOT NULL AND day = '"+string(lately)+"'"))
	require.Zero(t, storetest.RowsIn(t, s, "report_tombstone"), "a warehouse keeps what it has")
	require.Zero(t, storetest.RebuildSummaries(t, s), "no day is marked")
	require.Equal(t, before, storetest.SummaryVersions(t, s))
	require.Equal(t, 2, storetest.RowsIn(t, s, "summary_daily"), "the summary of the day stays")

	// A later pull of the day is written into the tables, and does not become the day's summary.
	row := storetest.CostRow(longAgo, "", 1, `{"later":1}`)
	_, err = s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "b", longAgo), row))
	require.NoError(t, err)
	require.Equal(t, 1, storetest.RebuildSummaries(t, s))
	require.Zero(t, storetest.RebuildSummaries(t, s))
	require.Equal(t, 1, storetest.RowsIn(t, s, "report_daily WHERE day = '"+string(longAgo)+"'"))
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE day = '"+string(longAgo)+"' AND cost = 5000000"))
	storetest.BindTo(t, s, "chess", 7)
	storetest.RebuildSummaries(t, s)
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE day = '"+string(longAgo)+
		"' AND cost = 5000000 AND game = 'unassigned'"), "nor does a binding reach it")

	gone, done, err = s.Pruner(time.Minute).Public(ctx, false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)
	_ = gone // On MariaDB the later row is in the next day's partition, and goes with that.
}

func TestPrune_OfPublicDaysWaitsForTheirSummaries(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "b", longAgo),
		storetest.CostRow(longAgo, "", 6_000_000, `{"later":1}`)))
	require.NoError(t, err)
	gone, done, err := s.Pruner(time.Minute).Public(t.Context(), false, lately.Add(-30))
	require.NoError(t, err)
	require.False(t, done)
	require.Zero(t, gone)
	require.Equal(t, 1, storetest.RebuildSummaries(t, s))
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE day = '"+string(longAgo)+"' AND cost = 6000000"))
	_, done, err = s.Pruner(time.Minute).Public(t.Context(), false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)
}

func TestPrune_OfSummariesIsNotPartlyUndone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	gone, err := s.Pruner(time.Minute).Summaries(ctx, lately.Add(-30))
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	storetest.BindTo(t, s, "chess", 7)
	storetest.RebuildSummaries(t, s)
	_, err = s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "b", longAgo),
		storetest.CostRow(longAgo, "", 6_000_000, `{"later":1}`)))
	require.NoError(t, err)
	require.Equal(t, 1, storetest.RebuildSummaries(t, s))
	require.Zero(t, storetest.RebuildSummaries(t, s), "its mark is cleared too")
	require.Zero(t, storetest.RowsIn(t, s, "summary_daily WHERE day = '"+string(longAgo)+"'"))
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE day = '"+string(lately)+"' AND game = 'chess'"))
}

func TestPrune_OfRawDaysLeavesThePublicOnes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	gone, err := s.Pruner(time.Minute).Days(ctx, storetest.RawReport.Name, storetest.RawReport.Key(), lately)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	require.Equal(t, 1, storetest.RowsIn(t, s, storetest.RawReport.Name))
	require.Equal(t, 2, storetest.RowsIn(t, s, "report_daily"))
	require.Zero(t, storetest.RebuildSummaries(t, s))

	// A run that compares restores the raw row next to the public one, of which there is still one.
	order := storetest.ReportOf(storetest.Claim(t, s, "b", longAgo), storetest.CostRow(longAgo, "", 5_000_000, `{}`))
	order.Compare = true
	result, err := s.WriteReport(ctx, order)
	require.NoError(t, err)
	require.Empty(t, result.Suspect)
	require.Equal(t, 2, storetest.RowsIn(t, s, storetest.RawReport.Name))
	require.Equal(t, 2, storetest.RowsIn(t, s, "report_daily"))
	require.Zero(t, storetest.RowsIn(t, s, "report_tombstone"))
}

func TestPrune_EndsWithItsPieceWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	gone, err := s.Pruner(0).Days(t.Context(), storetest.RawReport.Name, storetest.RawReport.Key(), lately)
	require.NoError(t, err)
	require.Zero(t, gone)
	require.Equal(t, 2, storetest.RowsIn(t, s, storetest.RawReport.Name))
}

// A long read keeps a partition from being dropped. The drop does not wait for it, as all later statements would wait
// too.
func TestPrune_NeitherWaitsNorBlocks(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("SQLite has no partitions, and one writer")
	}
	ctx := t.Context()
	rows := func(tx *gorm.DB) error {
		var n int
		return tx.Raw("SELECT COUNT(*) FROM report_daily").Row().Scan(&n)
	}
	write := func(cost int64) {
		_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "w", lately),
			storetest.CostRow(lately, "", cost, `{"w":1}`)))
		require.NoError(t, err, "a write waits no longer than for a lock")
	}
	reading, read := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.Data.Snapshot(context.WithoutCancel(ctx), func(tx *gorm.DB) error {
			err := rows(tx)
			close(reading)
			<-read
			return err
		})
	}()
	<-reading
	pruned := make(chan error, 1)
	go func() {
		_, done, err := s.Pruner(time.Minute).Public(context.WithoutCancel(ctx), false, lately.Add(-30))
		if err == nil && done {
			err = context.Canceled // The partition cannot have been dropped.
		}
		pruned <- err
	}()
	write(6_000_000)
	require.NoError(t, <-pruned)
	write(7_000_000)
	require.Equal(t, 1, storetest.RowsIn(t, s, "report_daily WHERE day = '"+string(longAgo)+"'"),
		"it is left to the next pass")
	close(read)
	require.NoError(t, <-ended)
	_, done, err := s.Pruner(time.Minute).Public(ctx, false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)

	// Rows are deleted by key: those of today may be locked and written meanwhile.
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT 1 FROM " + storetest.RawReport.Name + " WHERE day = '" + string(lately) +
			"' FOR UPDATE").Error; err != nil {
			return err
		}
		gone, err := s.Pruner(time.Minute).Days(ctx, storetest.RawReport.Name, storetest.RawReport.Key(), lately)
		require.EqualValues(t, 1, gone)
		return err
	})
	require.NoError(t, err)
}

func TestPrune_OfRunsLeavesThoseInUse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	db := s.Data.Writer(ctx)
	old := storetest.Moment.AddDate(0, 0, -200)
	tick := func(taskID int64, at time.Time, runID int64) {
		require.NoError(t, db.Exec("INSERT INTO tick (task_id, planned_at, run_id, made_at) VALUES (?, ?, ?, ?)", taskID,
			sqldb.At(at), runID, sqldb.At(at)).Error)
	}
	ended := storetest.NewRun(t, s, old, storetest.Keys(1)...)
	storetest.Apply(t, s, ended.Outcome(1, 1, task.Succeeded))
	tick(7, old, ended.ID)
	open := storetest.NewRun(t, s, old.Add(time.Second), storetest.Keys(1)...)
	tick(7, old.Add(time.Second), open.ID)
	dead := storetest.Died(t, s, 7, old.Add(time.Minute), "it failed", storetest.Keys(1)...)
	tick(7, old.Add(time.Minute), dead)
	last := storetest.NewRun(t, s, old.Add(time.Hour), storetest.Keys(1)...)
	storetest.Apply(t, s, last.Outcome(1, 1, task.Succeeded))
	tick(9, old.Add(time.Hour), last.ID)
	young := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	storetest.Apply(t, s, young.Outcome(1, 1, task.Succeeded))
	tick(7, storetest.Moment, young.ID)
	require.NoError(t,
		db.Exec(
			"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at, taken)"+
				" VALUES (?, 7, '{}', 'otto', ?, 1)", ended.ID, sqldb.At(old)).Error)
	require.NoError(t,
		db.Exec(
			"INSERT INTO tick_answer (task_id, run_id, predecessor_task_id, planned_at) VALUES (8, ?, 7, ?), (8, ?, 7, ?)",
			ended.ID, sqldb.At(old), young.ID, sqldb.At(storetest.Moment)).Error)

	for _, id := range []int64{ended.ID, open.ID, young.ID} {
		ok, err := s.WriteFilePull(ctx, task.Key{RunID: id, AccountID: 1, Part: "2026-08-01"}, "{}", 0)
		require.NoError(t, err)
		require.True(t, ok)
	}

	gone, err := s.Pruner(time.Minute).Runs(ctx, storetest.Moment.AddDate(0, 0, -90))
	require.NoError(t, err)
	require.EqualValues(t, 6, gone, "two runs, an order, an answer, a pull of files and a tick")
	var runs, ticks []int64
	require.NoError(t, db.Raw("SELECT id FROM run ORDER BY id").Scan(&runs).Error)
	require.Equal(t, []int64{open.ID, dead, young.ID}, runs, "open runs, those with dead subtasks, and recent ones stay")
	require.NoError(t, db.Raw("SELECT run_id FROM tick ORDER BY run_id").Scan(&ticks).Error)
	require.Equal(t, []int64{open.ID, dead, last.ID, young.ID}, ticks, "the newest tick of a task stays")
	require.Equal(t, 1, storetest.RowsIn(t, s, "tick_answer"))
	require.Zero(t, storetest.RowsIn(t, s, "manual_order"))
	require.Equal(t, 2, storetest.RowsIn(t, s, "file_pull"))

	n, err := s.Pruner(time.Minute).Dead(ctx, storetest.Moment.AddDate(0, 0, -90))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
