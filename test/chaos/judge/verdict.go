package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"adsync/base/task"
)

// Facts are the judge's inputs in addition to the tables: what was ordered and what the fault excuses.
type Facts struct {
	Tasks    []Task
	Accounts map[string][]int64 // by media: those that every run of the media must cover
	Orders   []Order
	// Until is the moment up to which every tick must exist.
	Until time.Time
	// MayFail means that the fault excuses failed subtasks.
	MayFail bool
	// MayEnd means that people ended work: cancelled, superseded by hand, expired.
	MayEnd bool
	// WrongRows is the number of result rows that differ from the truth. Examples describe some of them.
	WrongRows int64
	Examples  []string
	// Followed are the runs whose subtasks' ends an application follows, and Outcomes is what it received, in order. Both
	// are empty if nothing can be said of them.
	Followed []int64
	Outcomes []Outcome `json:"-"`
	// Overspent is the number of calls that the platforms refused because of a limit.
	Overspent int64
	Struck    int
	// Unproved describes the promises that could not be judged.
	Unproved []string
	// StallMax is the longest stall that the design allows for the fault; 0 means any.
	StallMax time.Duration
}

// Task is a task of the load: a tick at each multiple of Every.
type Task struct {
	ID    int64
	Name  string
	Media string
	Every time.Duration
	// The task's moments count from Since on, up to Until if that is before the Until of the facts.
	Since, Until time.Time
	// Whole means that a run is not divided by account: its rows have account 0.
	Whole bool
}

// Order is an order by hand that the API accepted.
type Order struct {
	RunID    int64
	Accounts []int64
}

// Verdict is the outcome of a scenario.
type Verdict struct {
	Scenario     string  `json:"scenario"`
	Seed         int64   `json:"seed"`
	Struck       int     `json:"struck"`
	Subtasks     int     `json:"subtasks"`
	Redelivered  int     `json:"redelivered"`
	Lost         int     `json:"lost"`
	Doubled      int     `json:"doubled"`
	WrongRows    int64   `json:"wrong_rows"`
	Overspent    int64   `json:"overspent"`
	LongestStall float64 `json:"longest_stall_seconds"`
	// Verdict is pass or fail. It is void when the fault did not strike or a promise could not be judged.
	Verdict string `json:"verdict"`

	Problems []Problem `json:"-"`
}

// The verdicts.
const (
	Pass = "pass"
	Fail = "fail"
	Void = "void"
)

// Judge returns the verdict from the last snapshot that w observed, the problems it noted before, and the facts.
func (w *Watch) Judge(f Facts) Verdict {
	w.judgeOpen()
	w.judgeTicks(f)
	w.judgeOrders(f)
	w.judgeScopes(f)
	w.judgeEpochs()
	w.judgeEnds(f)
	w.judgeOutcomes(f)
	for _, text := range f.Examples {
		w.Tell(Wrong, "%s", text)
	}
	if f.Overspent > 0 {
		w.Tell(Overrun, "%d calls were refused because of a limit", f.Overspent)
	}
	if f.StallMax > 0 && w.LongestStall > f.StallMax {
		w.Tell(Harmed, "nothing was done for %.1f s while work was waiting, more than %s", w.LongestStall.Seconds(),
			f.StallMax)
	}
	v := Verdict{
		Struck: f.Struck, Subtasks: len(w.rows), WrongRows: f.WrongRows, Overspent: f.Overspent,
		LongestStall: float64(w.LongestStall.Round(100*time.Millisecond)) / float64(time.Second), Problems: w.Problems,
		Verdict: Pass,
	}
	for _, r := range w.rows {
		v.Redelivered += r.Delivery - 1
	}
	for _, p := range w.Problems {
		switch p.Kind {
		case Lost:
			v.Lost++
		case Doubled:
			v.Doubled++
		}
	}
	switch {
	case len(w.Problems) > 0 || v.WrongRows > 0:
		v.Verdict = Fail
	case v.Struck == 0 || len(f.Unproved) > 0:
		v.Verdict = Void
	}
	return v
}

// judgeOpen finds what is still open.
func (w *Watch) judgeOpen() {
	for _, r := range w.last.Runs {
		if r.State.Open() {
			w.Tell(Stuck, "run %d of %s is %s", r.ID, r.TaskName, r.summary())
		}
	}
	for _, r := range w.Rows() {
		if r.State.Open() {
			w.Tell(Lost, "%s never ended: %s", name(r.Key), r.summary())
		}
	}
	for _, d := range w.last.Due {
		w.Tell(Stuck, "%s is still due as %s", name(d.Key), d.State)
	}
}

// judgeTicks compares the ledger with the crons: each moment exactly once, and each tick with its run.
func (w *Watch) judgeTicks(f Facts) {
	byID := map[int64]Task{}
	for _, t := range f.Tasks {
		byID[t.ID] = t
		until := f.Until
		if !t.Until.IsZero() && t.Until.Before(until) {
			until = t.Until
		}
		for m := t.Since.Truncate(t.Every).Add(t.Every); !m.After(until); m = m.Add(t.Every) {
			if _, ok := w.ticks[tickKey{t.ID, m.UnixMilli()}]; !ok {
				w.Tell(Lost, "the moment %s of %s has no tick", m.UTC().Format(time.RFC3339), t.Name)
			}
		}
	}
	for _, tick := range w.last.Ticks {
		t, ours := byID[tick.TaskID]
		if ours && !tick.Planned.Truncate(t.Every).Equal(tick.Planned) {
			w.Tell(Invented, "the tick %s of %s is no moment of its cron", tick.Planned.Format(time.RFC3339), t.Name)
		}
		run, ok := w.runs[tick.RunID]
		switch {
		case !ok:
			w.Tell(Lost, "the tick %s of task %d has no run", tick.Planned.Format(time.RFC3339), tick.TaskID)
		case run.TaskID != tick.TaskID || !run.Planned.Equal(tick.Planned):
			w.Tell(Broken, "the tick %s of task %d has run %d, which is of another", tick.Planned.Format(time.RFC3339),
				tick.TaskID, run.ID)
		}
	}
	for _, r := range w.last.Runs {
		if r.Kind != runOfTick {
			continue
		}
		if id, ok := w.ticks[tickKey{r.TaskID, r.Planned.UnixMilli()}]; !ok || id != r.ID {
			w.Tell(Invented, "run %d of %s has no tick", r.ID, r.TaskName)
		}
	}
}

// judgeOrders compares the orders that the API accepted with the runs.
func (w *Watch) judgeOrders(f Facts) {
	accounts := w.accountsOfRuns()
	for _, o := range f.Orders {
		run, ok := w.runs[o.RunID]
		if !ok {
			w.Tell(Lost, "the order %d was accepted and has no run", o.RunID)
			continue
		}
		for _, id := range o.Accounts {
			if !accounts[o.RunID][id] && run.State != task.RunCancelled {
				w.Tell(Lost, "the order %d of %s has no subtask for account %d", o.RunID, run.TaskName, id)
			}
		}
		for id := range accounts[o.RunID] {
			if len(o.Accounts) > 0 && !slices.Contains(o.Accounts, id) {
				w.Tell(Invented, "the order %d of %s has a subtask for account %d", o.RunID, run.TaskName, id)
			}
		}
	}
}

func (w *Watch) accountsOfRuns() map[int64]map[int64]bool {
	byRun := map[int64]map[int64]bool{}
	for k := range w.rows {
		if byRun[k.RunID] == nil {
			byRun[k.RunID] = map[int64]bool{}
		}
		byRun[k.RunID][k.AccountID] = true
	}
	return byRun
}

// judgeScopes compares the runs of the load with the accounts that they must cover.
func (w *Watch) judgeScopes(f Facts) {
	accounts := w.accountsOfRuns()
	overlaps := w.overlaps()
	for _, t := range f.Tasks {
		scope := f.Accounts[t.Media]
		if t.Whole {
			scope = []int64{0}
		}
		for _, r := range w.last.Runs {
			if r.TaskID != t.ID || r.Kind != runOfTick || r.State == task.RunCancelled {
				continue
			}
			for _, id := range scope {
				if !accounts[r.ID][id] && !w.excused(overlaps, r, id) {
					w.Tell(Lost, "run %d of %s has no subtask for account %d, and no earlier run had one open", r.ID, t.Name, id)
				}
			}
			for id := range accounts[r.ID] {
				if !slices.Contains(scope, id) {
					w.Tell(Invented, "run %d of %s has a subtask for account %d, which is not in its scope", r.ID, t.Name, id)
				}
			}
		}
	}
}

// overlaps are the subtasks of each task and account: a run leaves out what an earlier one has open.
type overlaps map[[2]int64][]Row

func (w *Watch) overlaps() overlaps {
	all := overlaps{}
	for k, row := range w.rows {
		key := [2]int64{w.runs[k.RunID].TaskID, k.AccountID}
		all[key] = append(all[key], row)
	}
	return all
}

// clockSlack is the largest allowed difference between the clocks of two processes.
const clockSlack = time.Second

// excused reports whether an earlier run of the task had an open subtask of the account when a run was made or fanned
// out.
func (w *Watch) excused(o overlaps, r Run, accountID int64) bool {
	return slices.ContainsFunc(o[[2]int64{r.TaskID, accountID}], func(row Row) bool {
		began := !row.Created.After(r.FannedOut.Add(clockSlack))
		open := row.Ended.IsZero() || !row.Ended.Before(r.Created.Add(-clockSlack)) || w.lastOpen[row.Key] >= w.made[r.ID]-1
		return row.RunID < r.ID && began && open
	})
}

// judgeEpochs checks that the terms of leaders did not interleave in the runs that they made.
func (w *Watch) judgeEpochs() {
	runs := slices.SortedFunc(maps.Values(w.runs), func(a,
		b Run) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	highest, since := int64(0), time.Time{}
	for _, r := range runs {
		if r.Epoch > highest {
			highest, since = r.Epoch, r.Created
		}
		if r.Epoch < highest && r.Created.Sub(since) > clockSlack {
			w.Tell(Fence, "run %d of %s was made by epoch %d, %.1f s after the first run of epoch %d", r.ID, r.TaskName, r.Epoch,
				r.Created.Sub(since).Seconds(), highest)
		}
	}
}

// judgeEnds finds ends that the fault does not explain.
func (w *Watch) judgeEnds(f Facts) {
	bad := map[string]int{}
	for _, r := range w.Rows() {
		switch {
		case r.State == task.Failed && !f.MayFail,
			(r.State == task.Expired || r.State == task.Cancelled) && !f.MayEnd:
			bad[fmt.Sprintf("%s ended as %s: %s", w.runs[r.RunID].TaskName, r.State, r.Error)]++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(bad)) {
		w.Tell(Lost, "%d subtasks of %s", bad[text], text)
	}
}
