package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

// workers are programs in another language: they know the job queue's protocol, and nothing else.
type workers struct {
	*deployment

	server *process // of the job queue
	queue  string   // its address and the namespace
}

// delivery is a job that a worker has claimed.
type delivery struct {
	JobID string `json:"job_id"`
	Data  []byte `json:"data"`
	Claim int64  `json:"claim"`
	State []byte `json:"state"`

	queue string
	body  struct {
		RunID     string          `json:"run_id"`
		Task      string          `json:"task"`
		Media     string          `json:"media"`
		Account   string          `json:"account"`
		AccountID string          `json:"account_id"`
		Part      string          `json:"part"`
		Params    json.RawMessage `json:"params"`
		PlannedAt time.Time       `json:"planned_at"`
		Deadline  *time.Time      `json:"deadline"`
		Attempt   int             `json:"attempt"`
	}
}

// newWorkers brings a deployment and its job queue up.
func newWorkers(t *testing.T) *workers {
	t.Helper()
	w := &workers{deployment: deploy(t, newWorld(t, 2, 7, "tencent"), func(_ services, settings map[string]any) {
		settings["jobs"] = map[string]any{"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "tokens": "none"}
	})}
	w.find(t)
	return w
}

// find finds the job queue's address. Where the processes have other roles, it starts one for jobs.
func (w *workers) find(t *testing.T) {
	t.Helper()
	if w.server = w.processes[0]; w.roles[0] != "all" {
		w.server = startProgram(t, w.program, "serve", "--role", "jobs", "--config", w.config)
	}
	record := map[string]any{}
	require.Eventually(t, func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		for _, line := range w.server.log {
			clear(record)
			if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == "listening" && record["for"] == "jobs" {
				return true
			}
		}
		return false
	}, patience, poll)
	w.queue = "http://" + record["addr"].(string) + "/api/warehouse/"
}

// restart kills the deployment's processes and starts them again.
func (w *workers) restart(t *testing.T) {
	t.Helper()
	for i, p := range w.processes {
		p.kill(t)
		w.start(t, i)
	}
	for i := range w.processes {
		w.awaitReady(t, i)
	}
	if w.roles[0] == "all" {
		w.find(t)
	}
}

// send sends a worker's request.
func (w *workers) send(t *testing.T, method, path, body string) (status int, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.queue+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, answer
}

// try claims a job within some seconds.
func (w *workers) try(t *testing.T, queue string, seconds int) (d delivery, ok bool) {
	t.Helper()
	status, answer := w.send(t, http.MethodGet, fmt.Sprintf("%s?claim=true&ttr=600&timeout=%d", queue, seconds), "")
	if status == http.StatusNotFound {
		return d, false
	}
	require.Equal(t, http.StatusOK, status, string(answer))
	require.NoError(t, json.Unmarshal(answer, &d))
	require.NoError(t, json.Unmarshal(d.Data, &d.body))
	d.queue = queue
	return d, true
}

// take claims the next job.
func (w *workers) take(t *testing.T, queue string) (d delivery) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; {
		if d, ok := w.try(t, queue, 10); ok {
			return d
		}
	}
	require.Fail(t, "no job comes", queue)
	return d
}

func (w *workers) ack(t *testing.T, d delivery, rows int) {
	t.Helper()
	status, answer := w.send(t, http.MethodDelete, fmt.Sprintf("%s/job/%s?rows=%d", d.queue, d.JobID, rows), "")
	require.Equal(t, http.StatusNoContent, status, string(answer))
}

func (w *workers) nack(t *testing.T, d delivery, reason string) {
	t.Helper()
	status, answer := w.send(t, http.MethodPost, fmt.Sprintf("%s/job/%s/nack?claim=%d", d.queue, d.JobID, d.Claim), reason)
	require.Equal(t, http.StatusNoContent, status, string(answer))
}

// addTask adds a task that workers do, and orders a run of it.
func (w *workers) addTask(t *testing.T, name string, params, fields map[string]any) (run int64) {
	t.Helper()
	params["namespace"], params["queue"] = "warehouse", name
	row := map[string]any{"name": name, "media": "system", "handler": "system.external", "params": params,
		"cron": "0 0 1 1 *", "retry_max": 1, "retry_base_seconds": 1}
	maps.Copy(row, fields)
	status, body := call(t, http.MethodPost, w.api+"/tasks", row)
	require.Equal(t, http.StatusCreated, status, string(body))
	return w.order(t, name, map[string]any{"scope": "all"})
}

// requireEnded waits for a run and checks its counts against its log.
func (w *workers) requireEnded(t *testing.T, run int64, state task.RunState, want map[task.State]int64) {
	t.Helper()
	r := w.await(t, []int64{run})[0]
	require.Equal(t, state, r.State, "%+v", r)
	counts, total := map[task.State]int64{}, int64(0)
	for s, n := range map[task.State]int64{task.Succeeded: r.Succeeded, task.Failed: r.Failed, task.Expired: r.Expired,
		task.Cancelled: r.Cancelled, task.Superseded: r.Superseded} {
		if total += n; n > 0 {
			counts[s] = n
		}
	}
	require.Equal(t, want, counts)
	require.Equal(t, total, *r.Total)
	require.Equal(t, want, w.logged(t, run))
}

// logRow is a subtask's row.
type logRow struct {
	State    task.State
	Attempt  int
	Rows     int64
	ErrorMsg string
}

func (w *workers) row(t *testing.T, run int64, part string) (r logRow) {
	t.Helper()
	require.NoError(t, w.store.Data.Writer(t.Context()).Raw("SELECT state, attempt, rows_written, error_text FROM "+
		ledger.LogTable(run)+" WHERE run_id = ? AND part = ?", run, part).Row().Scan(&r.State, &r.Attempt, &r.Rows,
		&r.ErrorMsg))
	return r
}

func (w *workers) stopWork(t *testing.T, route string, run int64) (id string) {
	t.Helper()
	status, body := call(t, http.MethodPost, w.api+"/"+route, map[string]any{"kind": "run",
		"target": strconv.FormatInt(run, 10), "reason": "of the test", "by": "otto"})
	require.Equal(t, http.StatusCreated, status, string(body))
	var stop struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(body, &stop))
	return stop.ID
}

// A worker in another language works the subtasks of tasks, and their ends are the outcomes of the subtasks.
func TestExternal_WorkersEndSubtasks(t *testing.T) {
	w := newWorkers(t)
	run := w.addTask(t, "builds", map[string]any{"ttr": 2, "params": map[string]any{"cube": "sales"},
		"parts": []string{"done", "nacked", "lapsed", "dead", "deleted"}}, nil)
	attempts := map[string][]string{} // the ids of the jobs of each part
	for range 9 {
		d := w.take(t, "builds")
		part := d.body.Part
		require.Equal(t, strconv.FormatInt(run, 10), d.body.RunID)
		require.Equal(t, "system", d.body.Media)
		require.Equal(t, "builds", d.body.Task)
		require.Empty(t, d.body.Account)
		require.JSONEq(t, `{"cube": "sales"}`, string(d.body.Params))
		require.Equal(t, len(attempts[part]), d.body.Attempt, part)
		require.NotContains(t, attempts[part], d.JobID)
		attempts[part] = append(attempts[part], d.JobID)
		switch first := len(attempts[part]) == 1; {
		case part == "nacked" && first || part == "dead":
			w.nack(t, d, "the cube is locked")
		case part == "lapsed" && first: // Its ttr lapses.
		case part == "deleted" && first:
			status, body := w.send(t, http.MethodPost, fmt.Sprintf("builds/job/%s/release?claim=%d", d.JobID, d.Claim), "step 1")
			require.Equal(t, http.StatusNoContent, status, string(body))
			again := w.take(t, "builds")
			for again.JobID != d.JobID { // Another part's.
				w.send(t, http.MethodPost, fmt.Sprintf("builds/job/%s/release?claim=%d", again.JobID, again.Claim), "")
				again = w.take(t, "builds")
			}
			require.Equal(t, "step 1", string(again.State))
			w.nack(t, again, "it is gone")
		default:
			w.ack(t, d, 17)
		}
	}
	w.requireEnded(t, run, task.RunPartial, map[task.State]int64{task.Succeeded: 4, task.Failed: 1})
	require.Equal(t, logRow{State: task.Succeeded, Rows: 17}, w.row(t, run, "done"))
	require.Equal(t, logRow{State: task.Succeeded, Attempt: 1, Rows: 17}, w.row(t, run, "nacked"))
	require.Equal(t, logRow{State: task.Succeeded, Attempt: 1, Rows: 17}, w.row(t, run, "lapsed"))
	dead := w.row(t, run, "dead")
	require.Equal(t, 2, dead.Attempt)
	require.Contains(t, dead.ErrorMsg, attempts["dead"][1]+" in warehouse/builds failed: the cube is locked")

	run = w.addTask(t, "figures", map[string]any{"days": 2}, map[string]any{"media": "tencent",
		"handler": "tencent.external"})
	met := map[string]bool{}
	for range 4 {
		d := w.take(t, "figures")
		require.NotEmpty(t, d.body.Account)
		require.False(t, met[d.body.Account+d.body.Part])
		met[d.body.Account+d.body.Part] = true
		_, err := time.Parse(time.DateOnly, d.body.Part)
		require.NoError(t, err)
		w.ack(t, d, 0)
	}
	w.requireEnded(t, run, task.RunSucceeded, map[task.State]int64{task.Succeeded: 4})
}

// Pauses, cancels and times to live of subtasks hold for their jobs.
func TestExternal_JobsFollowTheirSubtasks(t *testing.T) {
	w := newWorkers(t)
	run := w.addTask(t, "paused", map[string]any{}, nil)
	first := w.take(t, "paused")
	pause := w.stopWork(t, "pauses", run)
	w.send(t, http.MethodPost, fmt.Sprintf("paused/job/%s/release?claim=%d", first.JobID, first.Claim), "")
	require.Eventually(t, func() bool {
		d, ok := w.try(t, "paused", 0)
		if ok {
			w.send(t, http.MethodPost, fmt.Sprintf("paused/job/%s/release?claim=%d", d.JobID, d.Claim), "")
			return false
		}
		var held int64
		return assert.NoError(t, w.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM job_watched WHERE held = 1").
			Row().Scan(&held)) && held == 1
	}, patience, poll, "the job is never held")
	status, body := call(t, http.MethodDelete, w.api+"/pauses/"+pause+"?by=otto", nil)
	require.Less(t, status, 300, string(body))
	again := w.take(t, "paused")
	require.Equal(t, first.JobID, again.JobID)
	w.ack(t, again, 0)
	w.requireEnded(t, run, task.RunSucceeded, map[task.State]int64{task.Succeeded: 1})

	run = w.addTask(t, "cancelled", map[string]any{}, nil)
	d := w.take(t, "cancelled")
	w.stopWork(t, "cancels", run)
	w.requireEnded(t, run, task.RunCancelled, map[task.State]int64{task.Cancelled: 1})
	require.Eventually(t, func() bool {
		status, _ := w.send(t, http.MethodGet, "cancelled/job/"+d.JobID, "")
		return status == http.StatusNotFound
	}, patience, poll, "the job of a cancelled subtask is never withdrawn")
	w.ack(t, d, 3) // Its worker did not know it.
	row := w.row(t, run, "external")
	require.Equal(t, logRow{State: task.Cancelled, ErrorMsg: row.ErrorMsg}, row)

	run = w.addTask(t, "expired", map[string]any{}, map[string]any{"ttl_seconds": 5})
	w.requireEnded(t, run, task.RunFailed, map[task.State]int64{task.Expired: 1})
	_, ok := w.try(t, "expired", 0)
	require.False(t, ok)
}

// A process is killed while a job is open: the subtask keeps its job, and counts once.
func TestExternal_AKilledDeploymentKeepsTheJobs(t *testing.T) {
	w := newWorkers(t)
	run := w.addTask(t, "kept", map[string]any{"parts": []string{"a", "b"}}, nil)
	first, second := w.take(t, "kept"), w.take(t, "kept")
	w.ack(t, first, 1)
	w.restart(t)
	w.ack(t, second, 2)
	w.requireEnded(t, run, task.RunSucceeded, map[task.State]int64{task.Succeeded: 2})
	_, ok := w.try(t, "kept", 2)
	require.False(t, ok, "no job was made a second time")
	require.Equal(t, logRow{State: task.Succeeded, Rows: 1}, w.row(t, run, first.body.Part))
	require.Equal(t, logRow{State: task.Succeeded, Rows: 2}, w.row(t, run, second.body.Part))
}
