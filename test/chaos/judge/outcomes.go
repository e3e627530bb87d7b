package judge

import (
	"fmt"
	"slices"

	"adsync/base/task"
)

// Outcome is a message about the end of a subtask, as an application received it.
type Outcome struct {
	Key   string // of the message
	Seq   int64
	RunID int64
	Part  string
	State string
}

// outcomeKey is the key of the messages about a row's subject.
func outcomeKey(taskID int64, r Row) string {
	if r.AccountID == 0 {
		return fmt.Sprintf("%d/%s", taskID, r.Part)
	}
	return fmt.Sprintf("%d/%d", taskID, r.AccountID)
}

// judgeOutcomes compares the rows of followed runs with the messages: one for each end, and those of a key in the order
// of their numbers, without a gap.
func (w *Watch) judgeOutcomes(f Facts) {
	type end struct {
		key   string
		runID int64
		part  string
	}
	last, met := map[string]int64{}, map[end][]string{}
	for _, o := range f.Outcomes {
		if o.Seq != last[o.Key]+1 {
			w.Tell(Lost, "the outcome %d of %s came after %d", o.Seq, o.Key, last[o.Key])
		}
		last[o.Key] = o.Seq
		at := end{o.Key, o.RunID, o.Part}
		met[at] = append(met[at], o.State)
	}
	tasks := map[int64]int64{}
	for _, r := range w.last.Runs {
		tasks[r.ID] = r.TaskID
	}
	for _, r := range w.Rows() {
		if !slices.Contains(f.Followed, r.RunID) || r.State.Open() {
			continue
		}
		at := end{outcomeKey(tasks[r.RunID], r), r.RunID, r.Part}
		want := []string{string(r.State)}
		if r.State == task.Failed && slices.Equal(met[at], []string{"timeout"}) {
			want = met[at]
		}
		switch states := met[at]; {
		case len(states) == 0:
			w.Tell(Lost, "no outcome says that %s is %s", name(r.Key), r.State)
		case len(states) > 1:
			w.Tell(Doubled, "%d outcomes say that %s has ended: %v", len(states), name(r.Key), states)
		case !slices.Equal(states, want):
			w.Tell(Wrong, "the outcome of %s is %s, and its row is %s", name(r.Key), states[0], r.State)
		}
		delete(met, at)
	}
	for at := range met {
		w.Tell(Wrong, "an outcome of %s is of the run %d and the part %s, which has no such end", at.key, at.runID, at.part)
	}
}
