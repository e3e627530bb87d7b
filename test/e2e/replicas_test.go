package e2e

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// TestDeployment_ReplicasThatLagDecideNothing runs a deployment whose replicas stopped before anything was written:
// none of its work reads them, and every run and row is right. Only people's queries return data as old as the
// replicas.
func TestDeployment_ReplicasThatLagDecideNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, *accounts, 721)
	var asked [2]*recorder
	d := deploy(t, w, func(s services, settings map[string]any) {
		if s.databases.Data.Driver != sqldb.MySQL {
			t.Skip("SQLite has no replicas")
		}
		replicas := storetest.Config(t)
		stopped, err := store.Open(t.Context(), replicas, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, stopped.MigrateUp(t.Context()))
		require.NoError(t, stopped.Close())
		for i, name := range []string{"config", "data"} {
			var through sqldb.Database
			asked[i], through = record(t, map[string]sqldb.Database{"config": replicas.Config, "data": replicas.Data}[name])
			settings["store"].(map[string]any)[name].(map[string]any)["replicas"] = []string{through.Writer.Reveal()}
		}
		settings["producer"].(map[string]any)["schedule"] = true
	})
	d.requireSucceeded(t, d.await(t, d.orderAll(t, false)))
	d.summarise(t)
	d.requireTruth(t)

	// A difference between levels that no longer exists: adsync reads its account to find that.
	media := onePlatform
	external := d.busiestAccount(t, media)
	found, err := d.store.FindAccounts(t.Context(), media, []string{external})
	require.NoError(t, err)
	settled := day.Of(w.now, zone).Add(-3)
	require.NoError(t,
		d.store.Data.Writer(t.Context()).Exec(
			"INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, "+
				"last_seen_at, state)"+
				" VALUES (?, ?, 'adgroup', 'cost', ?, 2, 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 'open')", found[external].ID,
			settled,
			media).Error)
	d.summarise(t)
	var state string
	require.NoError(t, d.store.Data.Writer(t.Context()).Raw("SELECT state FROM reconciliation WHERE account_id = ?",
		found[external].ID).Row().Scan(&state))
	require.Equal(t, results.DifferenceMended, state)
	d.requireTruth(t)
	for _, r := range asked {
		require.Empty(t, queries(r), "work asked a replica")
	}

	status, body := call(t, http.MethodGet, d.api+"/accounts/"+media+"/"+external+"/coverage", nil)
	require.Equal(t, http.StatusOK, status, string(body))
	require.NotEmpty(t, queries(asked[1]))
	require.True(t, json.Valid(body))
	require.NotContains(t, string(body), "complete", "the replica knows of nothing that was pulled")
	d.stop(t)
}

// queries returns the recorded statements that read one of adsync's tables. At its start a process also checks the
// server's features and the user's rights.
func queries(r *recorder) []string {
	var found []string
	for _, s := range r.all() {
		if strings.HasPrefix(s, "SELECT") && strings.Contains(s, "FROM") && !strings.Contains(s, "adsync_no_such_table") &&
			!strings.HasPrefix(s, "SELECT CONCAT(o.number") {
			found = append(found, s)
		}
	}
	return found
}
