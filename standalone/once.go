package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"adsync/base/store"
	"adsync/base/task"
	"adsync/media/system"
	"adsync/producer"
	"adsync/standalone/verify"
)

// OnceReport is the outcome of `standalone --once`, as --output json prints it.
type OnceReport struct {
	Runs  []RunReport   `json:"runs"`
	Truth verify.Report `json:"truth"`
}

// RunReport is one run of a task.
type RunReport struct {
	Task      string        `json:"task"`
	State     task.RunState `json:"state"`
	Subtasks  int64         `json:"subtasks"`
	Succeeded int64         `json:"succeeded"`
	Failed    int64         `json:"failed"`
	Seconds   float64       `json:"seconds"`
}

// Check returns ErrDifferent if a row differs, and an error that names a run that did not succeed.
func (r OnceReport) Check() error {
	if r.Truth.Differences > 0 {
		return ErrDifferent
	}
	if r.Truth.RowsCompared == 0 {
		return errors.New("there was nothing to compare")
	}
	for _, run := range r.Runs {
		if run.State != task.RunSucceeded {
			return fmt.Errorf("the run of %s ended as %s, though nothing differs", run.Task, run.State)
		}
	}
	return nil
}

// pollInterval is how often the runs are looked at.
const pollInterval = 200 * time.Millisecond

// orderTasks orders every task of the platforms, or of the system, one time, all at the moment now of the world. It
// returns the ids of their runs. Rows that are switched off or cannot be used are left out: the API names them.
func orderTasks(ctx context.Context, s *store.Store, tasks []producer.Task, now time.Time, by string, ofSystem bool) ([]int64, error) {
	var ids []int64
	for _, row := range tasks {
		if !row.Usable || !row.Enabled || (row.Media == system.Name) != ofSystem {
			continue
		}
		id := task.NewRunID(now)
		if err := s.AddOrder(ctx, store.RunOrder{RunID: id, TaskID: row.ID, Request: task.Order{By: by}, OrderedAt: now}); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// runOnce orders every task and waits for the end of their runs: first those of the platforms, which may run side by
// side, then the system's, which build on what those wrote.
func runOnce(ctx context.Context, s *store.Store, tasks []producer.Task, now time.Time, by string, progress func([]store.Run)) ([]RunReport, error) {
	var reports []RunReport
	for _, ofSystem := range []bool{false, true} {
		ids, err := orderTasks(ctx, s, tasks, now, by, ofSystem)
		if err != nil {
			return nil, err
		}
		runs, err := waitForRuns(ctx, s, ids, progress)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			reports = append(reports, reportOf(r))
		}
	}
	return reports, nil
}

func reportOf(r store.Run) RunReport {
	report := RunReport{Task: r.TaskName, State: r.State, Succeeded: r.Succeeded, Failed: r.Ended() - r.Succeeded, Seconds: r.EndedAt.Sub(r.CreatedAt).Seconds()}
	if r.Total != nil {
		report.Subtasks = *r.Total
	}
	// A pull that a newer one of the same scope made needless is no failure: the tables hold the newer figures.
	report.Succeeded += r.Superseded
	report.Failed -= r.Superseded
	return report
}

func waitForRuns(ctx context.Context, s *store.Store, ids []int64, progress func([]store.Run)) ([]store.Run, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		runs, err := s.Runs(ctx, ids)
		if err != nil {
			return nil, err
		}
		progress(runs)
		if len(runs) == len(ids) && !slices.ContainsFunc(runs, func(r store.Run) bool { return r.State.Open() }) {
			return runs, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// printOnce prints the outcome for people.
func printOnce(out io.Writer, r OnceReport) {
	fmt.Fprintf(out, "%-44s %-10s %9s %10s %7s %8s\n", "RUN", "STATE", "SUBTASKS", "SUCCEEDED", "FAILED", "SECONDS")
	for _, run := range r.Runs {
		fmt.Fprintf(out, "%-44s %-10s %9d %10d %7d %8.1f\n", run.Task, run.State, run.Subtasks, run.Succeeded, run.Failed, run.Seconds)
	}
	fmt.Fprintf(out, "\n%-28s %10s %8s %12s\n", "TABLE", "ROWS", "COLUMNS", "DIFFERENCES")
	names := make([]string, 0, len(r.Truth.Tables))
	for name := range r.Truth.Tables {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := r.Truth.Tables[name]
		fmt.Fprintf(out, "%-28s %10d %8d %12d\n", name, t.Rows, t.Columns, t.Differences)
	}
	fmt.Fprintf(out, "\n%d rows compared with the platforms' truth (%d expected, %d of them not all zero): %d differences\n",
		r.Truth.RowsCompared, r.Truth.ExpectedRows, r.Truth.NonzeroRows, r.Truth.Differences)
	if len(r.Truth.Examples) > 0 {
		fmt.Fprintf(out, "\nthe first of them:\n  %s\n", strings.Join(r.Truth.Examples, "\n  "))
	}
}

func printJSON(out io.Writer, r any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
