package producer

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
)

func (b *bench) reload() map[string]Task {
	b.t.Helper()
	require.NoError(b.t, b.tasks.Reload(b.t.Context()))
	all := map[string]Task{}
	for _, task := range b.Tasks() {
		all[task.Name] = task
	}
	return all
}

func TestReload_NoticesEveryChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := b.store.Config
	require.Empty(t, b.reload())
	b.addTask("one", "tulip.report", "0 1 * * *", nil)
	b.addTask("two", "tulip.report", "0 2 * * *", nil)
	version := b.tasks.Current().Version
	require.Len(t, b.reload(), 2)
	require.Greater(t, b.tasks.Current().Version, version)
	version = b.tasks.Current().Version
	b.reload()
	require.Equal(t, version, b.tasks.Current().Version, "nothing changed")

	// The revision need not be raised by hand: every column counts.
	b.exec(db, "UPDATE cron_task SET cron = '0 3 * * *' WHERE name = 'one'")
	require.Equal(t, "0 3 * * *", b.reload()["one"].Cron)
	b.exec(db, "UPDATE cron_task SET enabled = 0 WHERE name = 'one'")
	require.False(t, b.reload()["one"].Enabled)
	require.EqualValues(t, 1, testutil.ToFloat64(b.metrics.tasks))
	b.exec(db, "DELETE FROM cron_task WHERE name = 'one'")
	require.NotContains(t, b.reload(), "one")
	require.Greater(t, b.tasks.Current().Version, version)
}

func TestReload_ABadRowKeepsItsLastGoodValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := b.store.Config
	b.addTask("good", "tulip.report", "0 1 * * *", nil)
	b.addTask("turns", "tulip.report", "0 2 * * *", nil)
	b.reload()
	b.exec(db, "UPDATE cron_task SET cron = 'whenever', lane = 'gone' WHERE name = 'turns'")
	b.addTask("born bad", "tulip.report", "garbage", nil)
	all := b.reload()
	require.Empty(t, all["good"].Errors)
	turns := all["turns"]
	require.True(t, turns.Usable)
	require.Equal(t, "0 2 * * *", turns.Cron)
	require.Len(t, turns.Errors, 2)
	born := all["born bad"]
	require.False(t, born.Usable)
	require.Len(t, born.Errors, 2, "its name and its cron")
	require.EqualValues(t, 2, testutil.ToFloat64(b.metrics.badTasks))

	// A bad task can be disabled.
	b.exec(db, "UPDATE cron_task SET enabled = 0 WHERE name = 'turns'")
	turns = b.reload()["turns"]
	require.False(t, turns.Enabled)
	require.Equal(t, "0 2 * * *", turns.Cron)

	b.exec(db, "UPDATE cron_task SET cron = '0 5 * * *', lane = 'normal', enabled = 1 WHERE name = 'turns'")
	b.exec(db, "DELETE FROM cron_task WHERE name = 'born bad'")
	all = b.reload()
	require.Len(t, all, 2)
	require.Equal(t, "0 5 * * *", all["turns"].Cron)
	require.Empty(t, all["turns"].Errors)
	require.Zero(t, testutil.ToFloat64(b.metrics.badTasks))
}

// A bad row runs with its last good settings, also if no process remains that has read those.
func TestReload_LastGoodRowsOutliveAllProducers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.addTask("turns", "tulip.report", "0 2 * * *", map[string]any{"retry_max": 7})
	b.addTask("goes", "tulip.report", "0 3 * * *", nil)
	tm := b.term()
	require.NoError(t, tm.keepGoodRows(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET cron = '0 4 * * *' WHERE name = 'turns'")
	require.NoError(t, b.tasks.Reload(ctx))
	require.NoError(t, tm.keepGoodRows(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET cron = 'garbage', name = 'renamed' WHERE name = 'turns'")
	b.exec(b.store.Config, "UPDATE cron_task SET cron = 'garbage' WHERE name = 'goes'")
	b.addTask("born.bad", "tulip.report", "garbage", nil)
	require.NoError(t, b.tasks.Reload(ctx))
	require.NoError(t, tm.keepGoodRows(ctx), "what is bad is not stored")

	b.Producer = b.another()
	all := b.reload()
	require.True(t, all["turns"].Usable)
	require.Equal(t, "0 4 * * *", all["turns"].Cron)
	require.Equal(t, 7, all["turns"].RetryMax)
	require.Len(t, all["turns"].Errors, 1)
	require.False(t, all["born.bad"].Usable)

	// It can still be disabled. A deleted row is forgotten: its id may be used again.
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 0 WHERE name = 'renamed'")
	b.Producer = b.another()
	require.False(t, b.reload()["turns"].Enabled)
	b.exec(b.store.Config, "DELETE FROM cron_task WHERE name = 'goes'")
	require.NoError(t, b.tasks.Reload(ctx))
	tm = b.term()
	require.NoError(t, tm.keepGoodRows(ctx))
	stored, err := b.store.GoodTaskRows(ctx)
	require.NoError(t, err)
	require.Len(t, stored, 1)

	old := tm
	b.term()
	old.goodVersion = -1
	old.goodRows = map[int64]settings.TaskRow{1: {}}
	old.tasks.Current().Good[1] = settings.TaskRow{ID: 1, Revision: "1"}
	require.ErrorIs(t, old.keepGoodRows(ctx), errStale)
}
