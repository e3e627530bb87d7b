package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"adsync/base/task"
)

// Kind is the kind of a broken promise.
type Kind string

// The kinds of problems.
const (
	Lost     Kind = "lost"     // work that was due or accepted and never ended
	Doubled  Kind = "doubled"  // done or counted twice
	Invented Kind = "invented" // work that nobody planned
	Fence    Kind = "fence"    // a write of a leader after its term
	Broken   Kind = "broken"   // rows that contradict each other, or whose values went back
	Stuck    Kind = "stuck"    // still open when everything had ended
	Wrong    Kind = "wrong"    // results that are not the truth
	Overrun  Kind = "overrun"  // calls that a platform refused for a limit
	Harmed   Kind = "harmed"   // what hurts operators: silence, floods of logs, dead processes
)

// Problem is one broken promise.
type Problem struct {
	Kind Kind      `json:"kind"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// Watch compares each snapshot with the one before. The zero Watch is ready.
type Watch struct {
	Problems []Problem
	// LongestStall is the longest time without any outcome while work was waiting.
	LongestStall time.Duration

	told          map[string]bool
	last          Snapshot
	runs          map[int64]Run
	rows          map[task.Key]Row
	ticks         map[tickKey]int64
	daily, hourly map[Report]int64
	claims        map[Scope]int64
	// seen counts the snapshots; made is the snapshot in which each run first appeared, and open the one in which each
	// subtask was last open. A row's own times do not show this: its end is when the work was done, and that is written
	// later.
	seen     int
	made     map[int64]int
	lastOpen map[task.Key]int

	open  bool      // whether work was waiting
	quiet time.Time // since when there was no outcome
	begun bool
}

type tickKey struct {
	taskID  int64
	planned int64 // in milliseconds
}

func (t Tick) key() tickKey { return tickKey{t.TaskID, t.Planned.UnixMilli()} }

// Change is a difference between two snapshots, for the history.
type Change struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Was  string    `json:"was,omitempty"`
	Is   string    `json:"is"`
}

// Tell notes a problem, once for each text.
func (w *Watch) Tell(kind Kind, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.told == nil {
		w.told = map[string]bool{}
	}
	if w.told[string(kind)+text] {
		return
	}
	w.told[string(kind)+text] = true
	w.Problems = append(w.Problems, Problem{Kind: kind, Text: text, At: w.last.At})
}

// Observe takes the next snapshot and returns what has changed since the last one.
func (w *Watch) Observe(s Snapshot) []Change {
	last := w.last
	w.last = s
	w.seen++
	w.remember(s)
	var changes []Change
	if s.Epoch != last.Epoch {
		changes = append(changes, Change{At: s.At, What: "leader", Was: fmt.Sprint(last.Epoch), Is: fmt.Sprint(s.Epoch)})
	}
	if s.Epoch < last.Epoch {
		w.Tell(Fence, "the leader's epoch fell from %d to %d", last.Epoch, s.Epoch)
	}
	w.compareTicks(s)
	changes = append(changes, w.compareRuns(s, last)...)
	rowChanges, outcomes, open := w.compareRows(s)
	changes = append(changes, rowChanges...)
	w.checkRuns(s)
	w.checkDue(s)
	w.compareResults(s)
	if w.open {
		w.LongestStall = max(w.LongestStall, s.At.Sub(w.quiet))
	}
	if outcomes || !w.open {
		w.quiet = s.At
	}
	w.begun, w.open = true, open
	return changes
}

// remember notes when runs first appeared and when subtasks were last open.
func (w *Watch) remember(s Snapshot) {
	if w.made == nil {
		w.made, w.lastOpen = map[int64]int{}, map[task.Key]int{}
	}
	for _, r := range s.Runs {
		if _, ok := w.made[r.ID]; !ok {
			w.made[r.ID] = w.seen
		}
	}
	for _, r := range s.Rows {
		if r.State.Open() {
			w.lastOpen[r.Key] = w.seen
		}
	}
}

// compareTicks compares the ledger with the snapshot before: it may only grow.
func (w *Watch) compareTicks(s Snapshot) {
	now := make(map[tickKey]int64, len(s.Ticks))
	for _, t := range s.Ticks {
		k := t.key()
		if _, twice := now[k]; twice {
			w.Tell(Doubled, "the moment %s of task %d has two ticks", t.Planned.Format(time.RFC3339), t.TaskID)
		}
		now[k] = t.RunID
		if was, ok := w.ticks[k]; ok && was != t.RunID {
			w.Tell(Broken, "the tick %s of task %d changed its run from %d to %d", t.Planned.Format(time.RFC3339), t.TaskID, was,
				t.RunID)
		}
	}
	for k := range w.ticks {
		if _, ok := now[k]; !ok {
			w.Tell(Lost, "the tick %s of task %d is gone", time.UnixMilli(k.planned).UTC().Format(time.RFC3339), k.taskID)
		}
	}
	w.ticks = now
}

func (w *Watch) compareRuns(s, last Snapshot) []Change {
	var changes []Change
	now := make(map[int64]Run, len(s.Runs))
	byTick := map[tickKey]int64{}
	for _, r := range s.Runs {
		now[r.ID] = r
		if r.Kind == runOfTick {
			k := tickKey{r.TaskID, r.Planned.UnixMilli()}
			if other, ok := byTick[k]; ok {
				w.Tell(Doubled, "the moment %s of %s has two runs, %d and %d", r.Planned.Format(time.RFC3339), r.TaskName, other,
					r.ID)
			}
			byTick[k] = r.ID
		}
		was, known := w.runs[r.ID]
		if !known {
			// The last snapshot showed that the newer term had begun. An older term may write nothing after that.
			if w.begun && r.Epoch < last.Epoch {
				w.Tell(Fence, "run %d of %s was made by epoch %d after epoch %d had begun", r.ID, r.TaskName, r.Epoch, last.Epoch)
			}
			changes = append(changes, Change{At: s.At, What: fmt.Sprintf("run %d %s", r.ID, r.TaskName), Is: r.summary()})
			continue
		}
		if was.summary() != r.summary() {
			changes = append(changes, Change{At: s.At, What: fmt.Sprintf("run %d %s", r.ID, r.TaskName), Was: was.summary(),
				Is: r.summary()})
		}
		w.compareRun(was, r)
	}
	for id, r := range w.runs {
		if _, ok := now[id]; !ok {
			w.Tell(Lost, "run %d of %s is gone", id, r.TaskName)
		}
	}
	w.runs = now
	return changes
}

// runOfTick is the kind of a run that was made for a tick.
const runOfTick = "tick"

func (r Run) summary() string {
	total := "?"
	if r.Total != nil {
		total = fmt.Sprint(*r.Total)
	}
	return fmt.Sprintf("%s epoch=%d cursor=%d total=%s counts=%v", r.State, r.Epoch, r.Cursor, total, r.Counts)
}

// compareRun compares a run with the snapshot before.
func (w *Watch) compareRun(was, r Run) {
	switch {
	case !was.State.Open() && was.State != r.State:
		w.Tell(Broken, "run %d of %s left its end state %s for %s", r.ID, r.TaskName, was.State, r.State)
	case was.State == task.RunRunning && r.State == task.RunFanningOut:
		w.Tell(Broken, "run %d of %s is fanned out again", r.ID, r.TaskName)
	}
	if r.Cursor < was.Cursor {
		w.Tell(Fence, "the cursor of run %d of %s went back from %d to %d", r.ID, r.TaskName, was.Cursor, r.Cursor)
	}
	if r.Epoch != was.Epoch {
		w.Tell(Broken, "run %d of %s changed its epoch from %d to %d", r.ID, r.TaskName, was.Epoch, r.Epoch)
	}
	if was.Total != nil && (r.Total == nil || *r.Total != *was.Total) {
		w.Tell(Broken, "the total of run %d of %s changed after it was counted", r.ID, r.TaskName)
	}
	for _, state := range endStates {
		if r.Counts[state] < was.Counts[state] {
			w.Tell(Broken, "the count of %s of run %d of %s fell from %d to %d", state, r.ID, r.TaskName, was.Counts[state],
				r.Counts[state])
		}
	}
}

func (r Row) summary() string {
	return fmt.Sprintf("%s delivery=%d attempt=%d", r.State, r.Delivery, r.Attempt)
}

// compareRows compares the subtasks with the snapshot before. It reports whether there was an outcome, and whether
// work is open.
func (w *Watch) compareRows(s Snapshot) (changes []Change, outcomes, open bool) {
	now := make(map[task.Key]Row, len(s.Rows))
	for _, r := range s.Rows {
		if _, twice := now[r.Key]; twice {
			w.Tell(Doubled, "%s has two rows", name(r.Key))
		}
		now[r.Key] = r
		open = open || r.State.Open()
		was, known := w.rows[r.Key]
		if !known {
			outcomes = outcomes || !r.State.Open()
			changes = append(changes, Change{At: s.At, What: name(r.Key), Is: r.summary()})
			continue
		}
		if was.State != r.State || was.Delivery != r.Delivery || was.Attempt != r.Attempt {
			changes = append(changes, Change{At: s.At, What: name(r.Key), Was: was.summary(), Is: r.summary()})
		}
		outcomes = outcomes || was.State != r.State && r.State != task.Waiting
		if !was.State.Open() && (was.State != r.State || was.Delivery != r.Delivery || !was.Ended.Equal(r.Ended)) {
			w.Tell(Doubled, "%s ended as %s and was changed afterwards, to %s", name(r.Key), was.summary(), r.summary())
		}
		if r.Delivery < was.Delivery {
			w.Tell(Broken, "the delivery of %s fell from %d to %d", name(r.Key), was.Delivery, r.Delivery)
		}
	}
	for k := range w.rows {
		if _, ok := now[k]; !ok {
			w.Tell(Lost, "the row of %s is gone", name(k))
		}
	}
	w.rows = now
	return changes, outcomes, open
}

func name(k task.Key) string {
	return fmt.Sprintf("subtask %d/%d/%s", k.RunID, k.AccountID, k.Part)
}

// checkRuns compares each run with its own rows.
func (w *Watch) checkRuns(s Snapshot) {
	for _, r := range s.Rows {
		if _, ok := w.runs[r.RunID]; !ok {
			w.Tell(Invented, "run %d has subtasks and is not there", r.RunID)
		}
	}
	for _, p := range s.Contradictions() {
		w.Tell(p.Kind, "%s", p.Text)
	}
}

// Contradictions returns the runs whose counts differ from their rows, in the order of the runs. At any moment, the
// subtasks created are those that ended and those that are open.
func (s Snapshot) Contradictions() (problems []Problem) {
	tell := func(kind Kind, format string, args ...any) {
		problems = append(problems, Problem{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	byRun := map[int64]map[task.State]int64{}
	for _, r := range s.Rows {
		if byRun[r.RunID] == nil {
			byRun[r.RunID] = map[task.State]int64{}
		}
		byRun[r.RunID][r.State]++
	}
	for _, r := range s.Runs {
		states := byRun[r.ID]
		rows, open := int64(0), int64(0)
		for state, n := range states {
			rows += n
			if state.Open() {
				open += n
			}
		}
		for _, state := range endStates {
			switch counted, have := r.Counts[state], states[state]; {
			case counted > have:
				tell(Doubled, "run %d of %s counts %d as %s, its rows are %d", r.ID, r.TaskName, counted, state, have)
			case counted < have:
				tell(Lost, "run %d of %s counts %d as %s, its rows are %d", r.ID, r.TaskName, counted, state, have)
			}
		}
		if r.Total != nil && *r.Total != rows {
			tell(Broken, "run %d of %s has a total of %d and %d rows", r.ID, r.TaskName, *r.Total, rows)
		}
		if !r.State.Open() && open > 0 {
			tell(Broken, "run %d of %s ended as %s with %d subtasks open", r.ID, r.TaskName, r.State, open)
		}
	}
	return problems
}

// checkDue compares the waiting rows with subtask_due: each waiting row has a due row, and each due row has a waiting
// one.
func (w *Watch) checkDue(s Snapshot) {
	due := make(map[task.Key]Due, len(s.Due))
	for _, d := range s.Due {
		due[d.Key] = d
		row, ok := w.rows[d.Key]
		want := string(row.State)
		if row.State == task.Waiting {
			want = DueSent
		}
		switch {
		case !ok:
			w.Tell(Broken, "%s is due and has no row", name(d.Key))
		case d.State != want || d.Delivery != row.Delivery:
			w.Tell(Broken, "%s is %s and due as %s of delivery %d", name(d.Key), row.summary(), d.State, d.Delivery)
		}
	}
	for k, row := range w.rows {
		waits := row.State == task.Retrying || row.State == task.Deferred || row.State == task.Waiting && row.Delivery > 1
		if _, ok := due[k]; waits && !ok {
			w.Tell(Broken, "%s is %s and not due", name(k), row.summary())
		}
	}
}

// compareResults finds results whose versions went back. A snapshot may lack results.
func (w *Watch) compareResults(s Snapshot) {
	w.daily = w.compareVersions("report_daily", w.daily, s.Daily)
	w.hourly = w.compareVersions("report_hourly", w.hourly, s.Hourly)
	if s.Claims != nil {
		for k, was := range w.claims {
			if is, ok := s.Claims[k]; !ok || is < was {
				w.Tell(Wrong, "the claimed version of account %d, %s, %s, %s fell", k.AccountID, k.Report, k.Level, k.Day)
			}
		}
		w.claims = s.Claims
	}
}

// compareVersions returns the newest versions that were read.
func (w *Watch) compareVersions(table string, last, now map[Report]int64) map[Report]int64 {
	if now == nil {
		return last
	}
	for k, was := range last {
		if is, ok := now[k]; ok && is < was {
			w.Tell(Wrong, "the version of a row of %s fell (account %d, %s, %s %s)", table, k.AccountID, k.Level, k.Day,
				k.Object)
		}
	}
	return now
}

// Rows returns the subtasks of the last snapshot by key.
func (w *Watch) Rows() []Row {
	return slices.SortedFunc(maps.Values(w.rows), func(a, b Row) int { return compareKeys(a.Key, b.Key) })
}
