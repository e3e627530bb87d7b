package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/standalone/verify"
)

// deployment is adsync as its operators run it, on its own world.
type deployment struct {
	program   string // of the processes that are started from now on
	world     *world
	store     *store.Store // a look at its tables
	config    string       // the file with its settings
	settings  map[string]any
	processes []*process // as services.roles
	roles     []string
	api       string
	whole     map[string]any    // orders a task's whole scope, as the producer takes it
	leftOut   func(string) bool // reports whether orderAll skips a task; nil skips none
}

// deploy brings a deployment up: tables, the world's accounts, and its processes. change alters the usual settings.
func deploy(t *testing.T, w *world, change ...func(s services, settings map[string]any)) *deployment {
	t.Helper()
	return deployProgram(t, program, w, change...)
}

// deployProgram is deploy with another program than the one that was just built.
func deployProgram(t *testing.T, program string, w *world,
	change ...func(s services, settings map[string]any)) *deployment {
	t.Helper()
	return deployOn(t, newServices(t), program, w, change...)
}

// deployOn is deployProgram on other servers than the usual ones.
func deployOn(
	t *testing.T, s services, program string, w *world, change ...func(s services, settings map[string]any),
) *deployment {
	t.Helper()
	d := prepare(t, s, program, w, change...)
	d.startAll(t)
	return d
}

// prepare writes a deployment's settings and tables, before its processes start.
func prepare(
	t *testing.T, s services, program string, w *world, change ...func(s services, settings map[string]any),
) *deployment {
	t.Helper()
	d := &deployment{program: program, world: w, config: filepath.Join(t.TempDir(), "adsync.yaml"), roles: s.roles(),
		whole: map[string]any{"scope": "all"}}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	d.settings = map[string]any{
		"api":    map[string]any{"listen": "127.0.0.1:0"},
		"secret": map[string]any{"keys": []any{map[string]any{"id": "k1", "key": base64.StdEncoding.EncodeToString(key)}}},
		"store":  map[string]any{"config": databaseSettings(s.databases.Config), "data": databaseSettings(s.databases.Data)},
		"broker": map[string]any{
			"brokers": s.kafka, "prefix": s.name, "partitions": 6,
			"replication": s.brokers, "min_insync": max(1, s.brokers-1),
			// The shortest that Kafka allows: after it, the partitions of a killed consumer move.
			"session_timeout": "6s", "drain_timeout": "2500ms",
			// Work whose offsets are committed too early must be missing after a kill.
			"commit_interval": "100ms",
		},
		"redis": map[string]any{
			"mode": s.redis.Mode, "addrs": s.redis.Addrs, "master_name": s.redis.MasterName, "key_prefix": s.redis.KeyPrefix,
		},
		"ratelimit": map[string]any{"members": max(1, len(d.roles)-1)},
		// Only runs that the tests order exist.
		"producer": map[string]any{"schedule": false, "lease_ttl": "6s"},
	}
	for _, c := range change {
		c(s, d.settings)
	}
	d.writeSettings(t)
	require.Contains(t, runProgram(t, program, "migrate", "up", "--config", d.config), "default tasks were written")
	// It prints the settings that are still missing.
	printed := runProgram(t, program, "bind", "--config", d.config, "--simulator", w.address)
	_, missing, ok := strings.Cut(printed, "with these settings:\n")
	require.True(t, ok, printed)
	require.NoError(t, yaml.Unmarshal([]byte(missing), &d.settings))
	d.writeSettings(t)

	var err error
	d.store, err = store.Open(t.Context(), s.databases, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })
	return d
}

func (d *deployment) writeSettings(t *testing.T) {
	t.Helper()
	text, err := yaml.Marshal(d.settings)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.config, text, 0o600))
}

func (d *deployment) startAll(t *testing.T) {
	t.Helper()
	d.processes = make([]*process, len(d.roles))
	for i := range d.roles {
		d.start(t, i)
	}
	for i := range d.roles {
		d.awaitReady(t, i)
	}
}

func databaseSettings(d sqldb.Database) map[string]any {
	settings := map[string]any{"driver": d.Driver, "writer": d.Writer.Reveal(), "max_open_conns": d.MaxOpenConns}
	if len(d.Replicas) > 0 {
		replicas := make([]string, len(d.Replicas))
		for i, r := range d.Replicas {
			replicas[i] = r.Reveal()
		}
		settings["replicas"] = replicas
	}
	return settings
}

func (d *deployment) start(t *testing.T, i int) {
	t.Helper()
	d.processes[i] = startProgram(t, d.program, "serve", "--role", d.roles[i], "--config", d.config)
}

// awaitReady waits until the process is ready. A producer then serves the API.
func (d *deployment) awaitReady(t *testing.T, i int) {
	t.Helper()
	address := "http://" + d.processes[i].await(t, "listening")["addr"].(string)
	require.Eventually(t, func() bool {
		status, _, err := tryCall(t.Context(), http.MethodGet, address+"/readyz", nil)
		return err == nil && status == http.StatusOK
	}, patience, poll, "process %d (%s) is never ready", i, d.roles[i])
	if d.roles[i] != "consumer" {
		d.api = address + "/api/v1"
	}
}

// stop ends all processes as an operator would.
func (d *deployment) stop(t *testing.T) {
	t.Helper()
	for _, p := range d.processes {
		p.stop(t)
	}
}

// order orders a run of a task now, with the API's request, and returns the run's id. While the database does not
// answer, as on a busy machine, it does what the answer says: it looks whether the order was stored, and tries again.
func (d *deployment) order(t *testing.T, name string, request map[string]any) int64 {
	t.Helper()
	before := d.newestOrder(t, name)
	status, body := call(t, http.MethodPost, d.api+"/tasks/"+name+"/run", request)
	for began := time.Now(); status == http.StatusServiceUnavailable && time.Since(began) < patience; {
		require.Eventually(t, func() bool {
			ready, _, err := tryCall(t.Context(), http.MethodGet, strings.TrimSuffix(d.api, "/api/v1")+"/readyz", nil)
			return err == nil && ready == http.StatusOK
		}, patience, poll, "after %s", body)
		if id := d.newestOrder(t, name); id != before {
			return id
		}
		status, body = call(t, http.MethodPost, d.api+"/tasks/"+name+"/run", request)
	}
	require.Equal(t, http.StatusAccepted, status, string(body))
	var order struct {
		RunID int64 `json:"run_id,string"`
	}
	require.NoError(t, json.Unmarshal(body, &order))
	return order.RunID
}

// newestOrder returns the run of the newest order of a task; 0 if there is none.
func (d *deployment) newestOrder(t *testing.T, name string) (run int64) {
	t.Helper()
	var id int64
	require.NoError(t, d.store.Config.Writer(t.Context()).Raw("SELECT id FROM cron_task WHERE name = ?",
		name).Row().Scan(&id))
	require.NoError(t, d.store.Data.Writer(t.Context()).Raw(
		"SELECT COALESCE(MAX(run_id), 0) FROM manual_order WHERE task_id = ?", id).Row().Scan(&run))
	return run
}

// orderAll orders one run of every task of the world's platforms, or of the system.
func (d *deployment) orderAll(t *testing.T, ofSystem bool) []int64 {
	t.Helper()
	status, body := call(t, http.MethodGet, d.api+"/tasks", nil)
	require.Equal(t, http.StatusOK, status, string(body))
	var list struct {
		Tasks []struct {
			Name   string `json:"name"`
			Media  string `json:"media"`
			Status string `json:"status"`
		} `json:"tasks"`
	}
	require.NoError(t, json.Unmarshal(body, &list))
	var ids []int64
	for _, row := range list.Tasks {
		if (row.Media == "system") != ofSystem || d.leftOut != nil && d.leftOut(row.Name) ||
			!ofSystem && !slices.Contains(d.world.platforms, row.Media) {
			continue
		}
		require.Equal(t, "good", row.Status, row.Name)
		ids = append(ids, d.order(t, row.Name, d.whole))
	}
	require.NotEmpty(t, ids)
	return ids
}

// summarise brings the summaries up to date.
func (d *deployment) summarise(t *testing.T) {
	t.Helper()
	d.requireSucceeded(t, d.await(t, d.orderAll(t, true)))
}

// awaitBindings waits until the leader has read the bindings, which it does once a minute: summaries that are built
// before have no game for new accounts, and the test builds them once.
func (d *deployment) awaitBindings(t *testing.T) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		wanted, err := d.store.Bindings(t.Context())
		require.NoError(c, err)
		applied, err := d.store.AppliedBindings(t.Context())
		require.NoError(c, err)
		require.Equal(c, wanted, applied)
	}, patience, poll)
}

// await returns the runs once all have ended.
func (d *deployment) await(t *testing.T, ids []int64) []ledger.Run {
	t.Helper()
	left := slices.Clone(ids) // Runs that have ended are not read in every poll.
	var runs []ledger.Run
	var err error
	ok := assert.Eventually(t, func() bool {
		if runs, err = d.store.Runs(t.Context(), left); err != nil {
			return true
		}
		for _, r := range runs {
			if !isOpen(r) {
				left = slices.DeleteFunc(left, func(id int64) bool { return id == r.ID })
			}
		}
		return len(left) == 0
	}, patience, poll, "%d ordered runs do not end", len(ids))
	require.NoError(t, err)
	if !ok {
		for _, r := range slices.DeleteFunc(runs, func(r ledger.Run) bool { return !isOpen(r) }) {
			t.Logf("open: %s %+v, by state %v", r.TaskName, r, d.logged(t, r.ID))
		}
		t.FailNow()
	}
	runs, err = d.store.Runs(t.Context(), ids)
	require.NoError(t, err)
	return runs
}

func isOpen(r ledger.Run) bool { return r.State.Open() }

// requireSucceeded checks that the runs succeeded and that their counts are exact: the total is the sum of the ended
// states and the number of rows in the log, state by state.
func (d *deployment) requireSucceeded(t *testing.T, runs []ledger.Run) {
	t.Helper()
	for _, r := range runs {
		require.Equal(t, task.RunSucceeded, r.State, "%s: %+v", r.TaskName, r)
		require.NotNil(t, r.Total, r.TaskName)
		counts := map[task.State]int64{
			task.Succeeded: r.Succeeded, task.Failed: r.Failed, task.Expired: r.Expired, task.Cancelled: r.Cancelled,
			task.Superseded: r.Superseded,
		}
		sum := int64(0)
		for state, n := range counts {
			sum += n
			if n == 0 {
				delete(counts, state)
			}
		}
		require.Equal(t, *r.Total, sum, r.TaskName)
		require.Equal(t, counts, d.logged(t, r.ID), r.TaskName)
	}
}

// logged counts the rows of a run's subtasks.
func (d *deployment) logged(t *testing.T, runID int64) map[task.State]int64 {
	t.Helper()
	rows, err := d.store.Data.Writer(t.Context()).Raw("SELECT state, COUNT(*) FROM "+ledger.LogTable(runID)+
		" WHERE run_id = ? GROUP BY state", runID).Rows()
	require.NoError(t, err)
	defer rows.Close()
	counts := map[task.State]int64{}
	for rows.Next() {
		var state task.State
		var n int64
		require.NoError(t, rows.Scan(&state, &n))
		counts[state] = n
	}
	require.NoError(t, rows.Err())
	return counts
}

// requireTruth compares every row of the tables with the platforms' truth.
func (d *deployment) requireTruth(t *testing.T) verify.Report {
	t.Helper()
	report := d.compare(t)
	require.Zero(t, report.Differences, "%+v", report)
	require.Equal(t, report.ExpectedRows, report.RowsCompared)
	return report
}

func (d *deployment) compare(t *testing.T) verify.Report {
	t.Helper()
	return d.compareTables(t, d.store)
}

// compareTables compares other tables than those of the writer.
func (d *deployment) compareTables(t *testing.T, tables *store.Store) verify.Report {
	t.Helper()
	report, err := verify.Run(t.Context(), verify.Options{
		Store: tables, Simulator: d.world.address, Client: http.DefaultClient, Now: d.world.now,
		Platforms: d.world.platforms,
	})
	require.NoError(t, err)
	return report
}

// ended counts the subtasks of the runs that have ended.
func (d *deployment) ended(t *testing.T, ids []int64) (ended, total int64) {
	t.Helper()
	runs, err := d.store.Runs(t.Context(), ids)
	require.NoError(t, err)
	for i := range runs {
		ended += runs[i].Ended()
		if runs[i].Total != nil {
			total += *runs[i].Total
		}
	}
	return ended, total
}
