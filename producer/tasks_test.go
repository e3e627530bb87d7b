package producer

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func (b *bench) reload() map[string]Task {
	b.t.Helper()
	require.NoError(b.t, b.tasks.reload(b.t.Context()))
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
	b.addTask("one", "tencent.report", "0 1 * * *", nil)
	b.addTask("two", "tencent.report", "0 2 * * *", nil)
	version := b.tasks.current().version
	require.Len(t, b.reload(), 2)
	require.Greater(t, b.tasks.current().version, version)
	version = b.tasks.current().version
	b.reload()
	require.Equal(t, version, b.tasks.current().version, "nothing changed")

	// The revision need not be raised by hand: every column counts.
	b.exec(db, "UPDATE cron_task SET cron = '0 3 * * *' WHERE name = 'one'")
	require.Equal(t, "0 3 * * *", b.reload()["one"].Cron)
	b.exec(db, "UPDATE cron_task SET enabled = 0 WHERE name = 'one'")
	require.False(t, b.reload()["one"].Enabled)
	require.EqualValues(t, 1, testutil.ToFloat64(b.metrics.tasks))
	b.exec(db, "DELETE FROM cron_task WHERE name = 'one'")
	require.NotContains(t, b.reload(), "one")
	require.Greater(t, b.tasks.current().version, version)
}

func TestReload_ABadRowKeepsItsLastGoodValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := b.store.Config
	b.addTask("good", "tencent.report", "0 1 * * *", nil)
	b.addTask("turns", "tencent.report", "0 2 * * *", nil)
	b.reload()
	b.exec(db, "UPDATE cron_task SET cron = 'whenever', lane = 'gone' WHERE name = 'turns'")
	b.addTask("born bad", "tencent.report", "garbage", nil)
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

	// Switching a bad task off works.
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

func TestPartitions_TheRowOfTheMediaWins(t *testing.T) {
	t.Parallel()
	list := &taskList{lanes: append(someLanes, someLanes[1])}
	list.lanes[2].Name, list.lanes[2].Partitions = "normal", 9
	require.Equal(t, 3, list.partitions("tencent", "own"))
	require.Equal(t, 9, list.partitions("tencent", "normal"))
	require.Equal(t, 0, list.partitions("oceanengine", "normal"))
}
