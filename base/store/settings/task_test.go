package settings_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestTaskRows_ReadWhateverTheTableHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	db := s.Config.Writer(ctx)
	require.NoError(t,
		db.Exec(
			"INSERT INTO cron_task (name, media, handler, cron) VALUES ('plain', 'tulip', 'tulip.adgroup', '* * * * *')").Error)
	require.NoError(t,
		db.Exec(
			"INSERT INTO cron_task (name, media, handler, cron, params, enabled, timezone)"+
				" VALUES ('odd', '', 'x', 'no cron', '{', 0, '')").Error)
	if s.Config.Dialect() == sqldb.SQLiteDialect {
		require.NoError(t, db.Exec("UPDATE cron_task SET timeout_seconds = 'soon' WHERE name = 'odd'").Error,
			"SQLite keeps any text")
	}
	rows, err := s.TaskRows(ctx)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, settings.TaskRow{
		ID: rows[0].ID, Name: "plain", Media: "tulip", Handler: "tulip.adgroup", Cron: "* * * * *", Timezone: "UTC",
		Lane: "normal", Scope: "active",
		Timeout: "300", TTL: "0", RetryMax: "5", RetryBase: "10", Overlap: "skip", CatchUp: "latest", CatchUpWindow: "86400",
		CatchUpOrder: "oldest_first", CatchUpSpread: "0", Concurrency: "parallel", ExclusiveOver: "lane",
		ExclusiveMax: "60", ExclusiveDrain: "60", FanOutRate: "0",
		Enabled: "1", Revision: "1",
	}, rows[0])
	require.Equal(t, "no cron", rows[1].Cron)
	require.Equal(t, "0", rows[1].Enabled)
}

func TestTaskSchedules_AreReplacedTogether(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	first := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	later := first.Add(time.Hour)
	require.NoError(t, s.PutTaskSchedules(ctx, l, []settings.TaskSchedule{{TaskID: 1, Hash: "x", Since: first},
		{TaskID: 2, Hash: "y", Since: first}}))
	want := map[int64]settings.TaskSchedule{
		1: {TaskID: 1, Hash: "x", Since: later}, // missed ticks were settled
		2: {TaskID: 2, Hash: "z", Since: later}, // an edit
	}
	stale := lease.Lease{Epoch: l.Epoch - 1, Holder: l.Holder}
	require.ErrorIs(t, s.PutTaskSchedules(ctx, stale, []settings.TaskSchedule{{TaskID: 1, Hash: "old", Since: first}}),
		lease.ErrStaleLease)
	require.NoError(t, s.PutTaskSchedules(ctx, l, []settings.TaskSchedule{want[1], want[2]}))
	got, err := s.TaskSchedules(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestPutTaskSchedules_WritesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := storetest.Lead(t, s, "me")
	since := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	want := map[int64]settings.TaskSchedule{}
	var schedules []settings.TaskSchedule
	for id := int64(1); id <= 1500; id++ {
		want[id] = settings.TaskSchedule{TaskID: id, Hash: "a", Since: since}
		schedules = append(schedules, want[id])
	}
	require.NoError(t, s.PutTaskSchedules(ctx, l, schedules))
	want[3] = settings.TaskSchedule{TaskID: 3, Hash: "b", Since: since.Add(time.Hour)}
	require.NoError(t, s.PutTaskSchedules(ctx, l, []settings.TaskSchedule{want[3]}))
	require.NoError(t, s.PutTaskSchedules(ctx, l, nil))
	storetest.Lead(t, s, "other")
	require.ErrorIs(t, s.PutTaskSchedules(ctx, l, schedules), lease.ErrStaleLease)
	got, err := s.TaskSchedules(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
