package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/standalone"
)

// The night of the simulated world, with its misbehaving platforms, on the servers of a deployment. The tests of
// standalone play it on the embedded parts.
func TestStory_OnADeploymentsServersEveryRowIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	if s.databases.Data.Driver == sqldb.SQLite {
		t.Skip("the environment names no MySQL: the tests of package standalone play the story on the embedded parts")
	}
	awaitEarlyEnough(t)
	data := filepath.Join(t.TempDir(), "data")
	args := []string{
		"standalone", "--once", "--output=json", "--accounts=6", "--seed=395", "--listen=127.0.0.1:0", "--data=" + data,
		"--set=store.config.writer=" + s.databases.Config.Writer.Reveal(), "--set=store.data.writer=" +
			s.databases.Data.Writer.Reveal(),
		"--set=broker.brokers=" + strings.Join(s.kafka, ","), "--set=broker.prefix=" + s.name, "--set=broker.partitions=6",
		"--set=broker.replication=1", "--set=broker.min_insync=1",
		"--set=redis.addrs=" + strings.Join(s.redis.Addrs, ","), "--set=redis.key_prefix=" + s.name,
	}
	var report standalone.OnceReport
	require.NoError(t, json.Unmarshal([]byte(command(t, args...)), &report))
	require.NotNil(t, report.Story)
	require.Zero(t, report.Story.Differences, "%v", report.Story.Examples)
	require.Greater(t, report.Story.RowsCompared, int64(1000))
	require.Zero(t, report.Truth.Differences, "%v", report.Truth.Examples)
	require.Positive(t, report.Truth.Tables["partner_daily"].Rows)
	for _, e := range report.Story.Events {
		require.Positive(t, e.Met, e.Name)
	}
	seconds := 0.0
	for _, scene := range report.Story.Scenes {
		seconds += scene.Seconds
	}
	t.Logf("%d scenes in %.0f s, %d rows as published, %d as in the truth", len(report.Story.Scenes), seconds,
		report.Story.RowsCompared, report.Truth.RowsCompared)

	// From now on only this world uses the tables.
	refused := func(args ...string) string {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env, cmd.Stderr = []string{}, &stderr
		require.Error(t, cmd.Run())
		return stderr.String()
	}
	other := append(append([]string{}, args...), "--data="+filepath.Join(t.TempDir(), "other"))
	require.Contains(t, refused(other...), "is not empty")
	require.Contains(t, refused("standalone", "--once", "--listen=127.0.0.1:0", "--data="+data),
		"has its tables in the databases")

	var again standalone.OnceReport
	require.NoError(t, json.Unmarshal([]byte(command(t, args...)), &again))
	require.Nil(t, again.Story, "a world has one night")
	require.Zero(t, again.Truth.Differences, "%v", again.Truth.Examples)
}
