package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestSeedTasks_WritesThoseOfAMediaThatHasNone(t *testing.T) {
	t.Parallel()
	b := &editBench{storetest.New(t), t}
	task := func(media, what string) settings.NewTask {
		return settings.NewTask{Name: media + "." + what, Media: media, Handler: media + ".balance", Cron: "5 * * * *"}
	}
	seed := func(want int, tasks ...settings.NewTask) {
		t.Helper()
		written, err := b.SeedTasks(t.Context(), tasks)
		require.NoError(t, err)
		require.Equal(t, want, written)
	}
	names := func() (all []string) {
		require.NoError(t, b.Config.Writer(t.Context()).Raw("SELECT name FROM cron_task ORDER BY name").Scan(&all).Error)
		return all
	}
	old := []settings.NewTask{task("tulip", "first"), task("tulip", "second")}
	seed(2, old...)
	require.Empty(t, b.log(), "the first rows are not an edit")

	// An operator deletes a task, and changes another one by SQL. Then a release brings a platform, and a task.
	b.sql("DELETE FROM cron_task WHERE name = 'tulip.second'")
	b.sql("UPDATE cron_task SET cron = '6 * * * *' WHERE name = 'tulip.first'")
	later := []settings.NewTask{old[0], old[1], task("tulip", "third"), task("rose", "first")}
	seed(1, later...)
	require.Equal(t, []string{"rose.first", "tulip.first"}, names())
	log := b.log()
	require.Len(t, log, 3, "edits by SQL that were made before are recorded as such")
	require.Regexp(t, `^sql .*tulip\.`, log[0])
	require.Regexp(t, `^sql .*tulip\.`, log[1])
	require.Regexp(t, `^adsync task\.create cron_task/rose\.first `, log[2])

	seed(0, later...)
	require.Len(t, b.log(), 3)
}
