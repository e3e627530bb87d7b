package outside

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"adsync/base/task"
	"adsync/test/chaos/judge"
)

// slack is how much earlier than its time to run a claim may seem to end: answers take time, and the server's clock is
// compared with this one.
const slack = time.Second

// findings are what the two show.
type findings struct {
	*history
	tables
	ttr      time.Duration
	problems []judge.Problem
	jobs     map[attempt]map[string]bool // by the deliveries
	hidden   int                         // ends of claims that no worker can have had
}

// judge compares the history with the tables, when all should have ended. accepted are the parts of orders, by run.
func (h *history) judge(t tables, accepted map[int64][]string, ttr time.Duration) []judge.Problem {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &findings{history: h, tables: t, ttr: ttr, jobs: map[attempt]map[string]bool{}}
	for _, text := range h.odd {
		f.tell(judge.Wrong, "%s", text)
	}
	for id, all := range h.deliveries {
		for _, d := range all {
			if f.jobs[d.attempt] == nil {
				f.jobs[d.attempt] = map[string]bool{}
			}
			f.jobs[d.attempt][id] = true
		}
	}
	for a, ids := range f.jobs {
		if len(ids) > 1 {
			f.tell(judge.Doubled, "%s has %d jobs: %v", a, len(ids), slices.Sorted(maps.Keys(ids)))
		}
	}
	f.judgeRuns(accepted)
	f.judgeSubtasks()
	f.judgeDeliveries()
	if n := f.left(); n > 0 {
		f.tell(judge.Stuck, "%d jobs of subtasks and %d rows about them are left", t.kept, t.watched)
	}
	slices.SortFunc(f.problems, func(a, b judge.Problem) int { return cmp.Compare(a.Text, b.Text) })
	return f.problems
}

func (f *findings) tell(kind judge.Kind, format string, args ...any) {
	f.problems = append(f.problems, judge.Problem{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// judgeRuns compares the runs with the orders and with their rows.
func (f *findings) judgeRuns(accepted map[int64][]string) {
	rows := map[int64]map[string]bool{}
	counts := map[int64]map[task.State]int64{}
	for _, s := range f.subtasks {
		if rows[s.run] == nil {
			rows[s.run], counts[s.run] = map[string]bool{}, map[task.State]int64{}
		}
		rows[s.run][s.part] = true
		if !s.state.Open() {
			counts[s.run][s.state]++
		}
	}
	for id, parts := range accepted {
		for _, part := range parts {
			if !rows[id][part] {
				f.tell(judge.Lost, "the order %d was accepted, and its part %s has no subtask", id, part)
			}
		}
		if len(rows[id]) > len(parts) {
			f.tell(judge.Invented, "the order %d has %d subtasks for %d parts", id, len(rows[id]), len(parts))
		}
	}
	for _, r := range f.runs {
		if r.state.Open() {
			f.tell(judge.Stuck, "run %d is %s", r.id, r.state)
		}
		if !maps.Equal(r.counts, counts[r.id]) || r.total != int64(len(rows[r.id])) {
			f.tell(judge.Broken, "run %d of %d has the counts %v, and its %d rows %v", r.id, r.total, r.counts,
				len(rows[r.id]), counts[r.id])
		}
	}
	if f.due > 0 {
		f.tell(judge.Stuck, "%d subtasks are still due", f.due)
	}
}

// judgeSubtasks compares each subtask with what its workers did.
func (f *findings) judgeSubtasks() {
	failures := map[attempt][]failure{} // by the subtask, at attempt 0
	for _, e := range f.failures {
		of := attempt{run: e.run, part: e.part}
		failures[of] = append(failures[of], e)
	}
	for _, s := range f.subtasks {
		switch {
		case s.state.Open():
			f.tell(judge.Lost, "%s never ended: it is %s", s, s.state)
		case s.state != task.Succeeded:
			f.tell(judge.Lost, "%s ended as %s", s, s.state)
		default:
			f.judgeSuccess(s)
		}
		own := failures[attempt{run: s.run, part: s.part}]
		seen := map[int]bool{}
		for _, e := range own {
			if seen[e.attempt.attempt] {
				f.tell(judge.Doubled, "%s counted twice as a failure", e)
			}
			seen[e.attempt.attempt] = true
			f.judgeFailure(e)
		}
		if s.attempt.attempt != len(seen) {
			f.tell(judge.Broken, "%s has %d failures", s, len(seen))
		}
	}
	if f.hidden > f.unseen*claimsMost {
		f.tell(judge.Broken, "%d jobs lapsed that no worker had, and only %d requests were not answered", f.hidden, f.unseen)
	}
}

// judgeSuccess requires an acknowledgement of the last attempt, with the rows of the subtask.
func (f *findings) judgeSuccess(s subtask) {
	acks := 0
	for id := range f.jobs[s.attempt] {
		for _, e := range f.requests[id] {
			if e.verb == ack && e.result != refused {
				acks++
				if e.rows == s.rows {
					return
				}
			}
		}
	}
	if acks > 0 {
		f.tell(judge.Wrong, "%s succeeded with %d rows, and no worker reported these", s, s.rows)
		return
	}
	f.tell(judge.Invented, "%s succeeded, and no worker acknowledged it", s)
}

// failed is the text of a failure that a job is the cause of.
var failed = regexp.MustCompile(`^job (\S+) in \S+ (failed: (.*)|was deleted: .*)$`)

// lapsed is the error of a job whose worker did not end it.
const lapsed = "its time to run ended without an acknowledgement"

// judgeFailure requires that a worker refused the job, that its time ended, or that people deleted it.
func (f *findings) judgeFailure(e failure) {
	found := failed.FindStringSubmatch(e.text)
	if found == nil {
		f.tell(judge.Invented, "%s failed without its job: %s", e, e.text)
		return
	}
	id, reason := found[1], found[3]
	before := attempt{e.run, e.part, e.attempt.attempt - 1}
	for _, d := range f.deliveries[id] {
		if d.attempt != before {
			f.tell(judge.Wrong, "%s failed by job %s, which was %s", e, id, d.attempt)
		}
	}
	switch reason {
	case "":
		if f.deleted == 0 {
			f.tell(judge.Invented, "%s failed, and nobody deleted it: %s", e, e.text)
		}
	case lapsed:
		f.judgeLapse(e, id)
	default:
		if !slices.ContainsFunc(f.requests[id], func(r *end) bool {
			return r.verb == nack && r.result != refused && r.text == reason
		}) {
			f.tell(judge.Invented, "%s failed, and no worker said so: %s", e, e.text)
		}
	}
}

// judgeLapse requires a delivery that its worker did not end in time. Without one the answer with the job was lost.
func (f *findings) judgeLapse(e failure, id string) {
	last := time.Time{}
	for _, d := range f.deliveries[id] {
		if d.at.After(last) {
			last = d.at
		}
	}
	ended := func(after time.Time, within time.Duration) bool {
		return slices.ContainsFunc(f.requests[id], func(r *end) bool {
			return r.result == done && !r.began.Before(after) && r.ended.Sub(after) < within && r.verb != release
		})
	}
	if !last.IsZero() && ended(last, f.ttr-slack) {
		f.tell(judge.Broken, "%s failed because its time ended, and its worker had ended job %s in time", e, id)
	}
	// A worker that released it may have been the last one that saw it.
	if last.IsZero() || slices.ContainsFunc(f.requests[id], func(r *end) bool {
		return r.verb == release && r.result != refused && r.began.After(last)
	}) {
		f.hidden++
	}
}

// judgeDeliveries looks for jobs that were worked after their end, or by two workers at a time.
func (f *findings) judgeDeliveries() {
	for id, all := range f.deliveries {
		slices.SortFunc(all, func(a, b delivery) int { return a.at.Compare(b.at) })
		for n, d := range all {
			released, late := n == 0, false
			for _, r := range f.requests[id] {
				if !late && r.verb != release && r.result == done && d.began.After(r.ended) {
					late = true
					f.tell(judge.Doubled, "job %s, %s, was delivered %s after it was %s", id, d.attempt, d.began.Sub(r.ended),
						r.verb)
				}
				released = released || r.verb == release && r.result != refused && r.began.Before(d.at)
			}
			if !released {
				f.tell(judge.Doubled, "job %s, %s, was delivered twice and released by no worker", id, d.attempt)
			}
			if state := f.stateOf(id, d); d.state != "" && !state {
				f.tell(judge.Wrong, "job %s, %s, was delivered with the state %q, which no worker kept with it", id, d.attempt,
					d.state)
			}
		}
	}
}

// stateOf reports whether a worker released a job with the state with which it was delivered.
func (f *findings) stateOf(id string, d delivery) bool {
	return slices.ContainsFunc(f.requests[id], func(r *end) bool { return r.verb == release && r.text == d.state })
}
