package e2e

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const planner = "../../examples/planner.py"

// warehouse is the warehouse that examples/planner.py keeps complete.
type warehouse struct {
	*workers

	python, file string
	db           *sql.DB
	program      *exec.Cmd // the one that works
}

// findPython returns the Python that runs the examples.
func findPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 for the examples")
	}
	return python
}

func newWarehouse(t *testing.T) *warehouse {
	t.Helper()
	python := findPython(t)
	w := &warehouse{workers: newWorkers(t), python: python, file: filepath.Join(t.TempDir(), "warehouse.db")}
	var err error
	w.db, err = sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(30000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.db.Close()) })
	output, err := w.command(t, "tasks").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return w
}

// command returns a command of the example that is not started.
func (w *warehouse) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.python, append([]string{planner}, args...)...)
	cmd.Env = append(os.Environ(), "ADSYNC_SERVER="+strings.TrimSuffix(w.api, "/api/v1"),
		"ADSYNC_JOBS_SERVER="+strings.TrimSuffix(w.queue, "/api/warehouse/"), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func (w *warehouse) start(t *testing.T) {
	t.Helper()
	w.program = w.command(t, "work", "--warehouse", w.file, "--builders", "6", "--build-seconds", "0.3")
	w.program.Stdout, w.program.Stderr = t.Output(), t.Output()
	require.NoError(t, w.program.Start())
	started := w.program
	t.Cleanup(func() { _ = started.Process.Kill() }) // An error means that it has ended.
	require.Eventually(t, func() bool {
		_, err := w.db.Exec("SELECT 1 FROM work")
		return err == nil
	}, patience, poll)
}

func (w *warehouse) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, w.program.Process.Signal(syscall.SIGTERM))
	require.NoError(t, w.program.Wait())
}

// arrive makes a version of the data of some hours of some cubes arrive.
func (w *warehouse) arrive(t *testing.T, version int, cubes, hours string) {
	t.Helper()
	for cube := range strings.FieldsSeq(cubes) {
		for hour := range strings.FieldsSeq(hours) {
			_, err := w.db.Exec("INSERT OR REPLACE INTO source VALUES (?, ?, ?)", cube, hour, version)
			require.NoError(t, err)
		}
	}
}

// count returns the number that a query of the warehouse has.
func (w *warehouse) count(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, w.db.QueryRow(query).Scan(&n))
	return n
}

// plan orders a run of the planner and waits until it has ended. It returns the run, and how many builds that ordered.
func (w *warehouse) plan(t *testing.T) (run int64, builds int) {
	t.Helper()
	run = w.order(t, "system.plan", w.whole)
	w.requireSucceeded(t, w.await(t, []int64{run}))
	under, err := w.store.RunsUnder(t.Context(), run)
	require.NoError(t, err)
	return run, int(under.Runs)
}

// complete waits until each segment is as new as its data.
func (w *warehouse) complete(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT COUNT(*) FROM source s LEFT JOIN segment g ON g.cube = s.cube AND g.hour = s.hour"+
			" WHERE g.version IS NULL OR g.version <> s.version") == 0
	}, patience, poll)
}

const (
	// overlaps joins each two works that were under way at the same time.
	overlaps = "SELECT COUNT(*) FROM work a JOIN work b ON a.id < b.id AND a.began < b.ended AND b.began < a.ended WHERE "
	gap      = "12 13 14 15"
)

// examples/planner.py fills gaps after an outage and refreshes what is covered. Builds of one cube are one after the
// other, those of several cubes side by side, and nothing runs next to a backup.
func TestPlanner_KeepsAWarehouseComplete(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.start(t)
	w.arrive(t, 1, "sales stock visits", "10 11")
	run, builds := w.plan(t)
	require.Equal(t, 6, builds)
	w.complete(t)
	for _, r := range w.runsUnder(t, run) {
		require.Equal(t, "system.build", r)
	}
	_, builds = w.plan(t)
	require.Zero(t, builds, "nothing is missing")

	// An outage: the data of some hours arrives, and newer data of one that is covered.
	w.stop(t)
	w.arrive(t, 1, "sales stock visits", gap)
	w.arrive(t, 2, "sales", "11")
	w.start(t)
	run, builds = w.plan(t)
	require.Equal(t, 3*4+1, builds)
	backup := w.order(t, "system.backup", w.whole)
	w.complete(t)
	w.requireSucceeded(t, w.await(t, []int64{backup}))

	require.Equal(t, 6+13, w.count(t, "SELECT COUNT(*) FROM segment")+1, "one of them twice")
	require.Equal(t, 6+13, w.count(t, "SELECT COUNT(*) FROM work WHERE kind = 'build' AND ended IS NOT NULL"))
	require.Zero(t, w.count(t, overlaps+"a.cube = b.cube"), "builds of one cube at the same time")
	require.Positive(t, w.count(t, overlaps+"a.kind = 'build' AND b.kind = 'build'"), "builds of several cubes")
	require.Equal(t, 1, w.count(t, "SELECT COUNT(*) FROM work WHERE kind = 'backup' AND ended IS NOT NULL"))
	require.Zero(t, w.count(t, overlaps+"'backup' IN (a.kind, b.kind)"), "something next to the backup")
	require.FileExists(t, w.file+".backup")
	require.Len(t, w.runsUnder(t, run), 13)
	w.stop(t)
}

// runsUnder returns the tasks of the runs that a run ordered.
func (w *warehouse) runsUnder(t *testing.T, run int64) (tasks []string) {
	t.Helper()
	var ids []int64
	require.NoError(t, w.store.Data.Writer(t.Context()).Raw("SELECT run_id FROM manual_order WHERE under_run_id = ?",
		run).Scan(&ids).Error)
	runs, err := w.store.Runs(t.Context(), ids)
	require.NoError(t, err)
	for i := range runs {
		require.Equal(t, []int64{run}, runs[i].Settings.Order.Ancestors)
		tasks = append(tasks, runs[i].TaskName)
	}
	return tasks
}
