package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestExpireLogDay_EndsAndCountsOpenSubtasks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	require.NoError(t, s.EnsureLogTable(ctx, day.Day("2026-11-21")))
	run := task.FirstRunID(day.Day("2026-11-21")) + 5
	exec := func(sql string, args ...any) {
		require.NoError(t, s.Data.Writer(ctx).Exec(sql, args...).Error)
	}
	exec(
		"INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state,"+
			" epoch, total, succeeded, created_at)"+
			" VALUES (?, 1, 't', 'test', 'test.x', 'normal', 1, '{}', 'tick', '2026-11-21', 'running', 1, 3, 1, '2026-11-21')",
		run)
	for i, state := range []task.State{task.Succeeded, task.Waiting, task.Retrying} {
		exec("INSERT INTO "+ledger.LogTable(run)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, 'p', ?, 1, 0, '2026-11-21')", run,
			i+1, state)
	}
	exec(
		"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt)"+
			" VALUES (?, 3, 'p', 'retrying', 'test', 'normal', '2026-11-21', 1, 0)", run)

	expired, err := s.ExpireLogDay(ctx, day.Day("2026-11-21"))
	require.NoError(t, err)
	require.Equal(t, 2, expired)
	var got struct {
		State     task.RunState `gorm:"column:state"`
		Succeeded int           `gorm:"column:succeeded"`
		Expired   int           `gorm:"column:expired"`
		Due       int           `gorm:"column:due"`
	}
	require.NoError(t,
		s.Data.Writer(ctx).Raw(
			"SELECT state, succeeded, expired, (SELECT COUNT(*) FROM subtask_due) AS due FROM run WHERE id = ?",
			run).Scan(&got).Error)
	require.False(t, got.State.Open())
	require.Equal(t, 2, got.Expired)
	require.Equal(t, 1, got.Succeeded)
	require.Zero(t, got.Due)

	days, err := s.LogDays(ctx)
	require.NoError(t, err)
	require.Contains(t, days, day.Day("2026-11-21"))
	require.NoError(t, s.DropLogTable(ctx, day.Day("2026-11-21")))
	days, err = s.LogDays(ctx)
	require.NoError(t, err)
	require.NotContains(t, days, day.Day("2026-11-21"))
}

func TestExpireLogDay_NeedsMoreThanOneTransaction(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := storetest.Keys(500 + 3)
	r := storetest.NewRun(t, s, storetest.Moment, keys...)
	next := storetest.NewRun(t, s, storetest.Moment.AddDate(0, 0, 1).Truncate(24*time.Hour), storetest.Keys(1)...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET id = ? WHERE id = ?",
		task.FirstRunID(task.LogDay(next.ID)), next.ID).Error)
	expired, err := s.ExpireLogDay(t.Context(), task.LogDay(r.ID))
	require.NoError(t, err)
	require.Equal(t, len(keys), expired)
	require.Equal(t, 1, storetest.RowsIn(t, s, fmt.Sprintf("run WHERE id = %d AND state <> 'running' AND expired = %d",
		r.ID, len(keys))))
	require.Equal(t, 1, storetest.RowsIn(t, s, "run WHERE state = 'running'"),
		"the first run of the next day is still running")
}
