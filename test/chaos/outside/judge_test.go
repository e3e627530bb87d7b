package outside

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
	"adsync/test/chaos/judge"
)

// scene is a run of one part, whose first attempt a worker refused and whose second one a worker acknowledged, and the
// orders that made it.
type scene struct {
	*history
	tables
	accepted map[int64][]string
}

func at(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }

// claims is a delivery of a job that took a second from a moment on.
func (s *scene) claims(id string, of, began int, state string) {
	s.delivers(id, delivery{attempt: attempt{1, "a", of}, began: at(began), at: at(began + 1), state: state})
}

// asks is a request of a worker that took a second from a moment on.
func (s *scene) asks(id string, began int, e end) {
	e.began, e.ended = at(began), at(began+1)
	s.requests[id] = append(s.requests[id], &e)
}

func newScene() *scene {
	s := &scene{history: newHistory(), accepted: map[int64][]string{1: {"a"}}, tables: tables{
		runs:     []run{{id: 1, state: task.RunSucceeded, total: 1, counts: map[task.State]int64{task.Succeeded: 1}}},
		subtasks: []subtask{{attempt: attempt{1, "a", 1}, state: task.Succeeded, rows: 7}},
		failures: []failure{{attempt: attempt{1, "a", 1}, text: "job J0 in w/q failed: no stock"}},
	}}
	s.claims("J0", 0, 0, "")
	s.asks("J0", 1, end{verb: nack, text: "no stock", result: done})
	s.claims("J1", 1, 10, "")
	s.asks("J1", 11, end{verb: ack, rows: 7, result: done})
	return s
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*scene)
		kind   judge.Kind // "" for a scene in which all holds
	}{
		"all is well": {change: func(*scene) {}},
		"an answer of an acknowledgement was lost": {change: func(s *scene) { s.requests["J1"][0].result = unknown }},
		"released and delivered again": {change: func(s *scene) {
			s.requests["J1"] = nil
			s.asks("J1", 11, end{verb: release, text: "half", result: done})
			s.claims("J1", 1, 12, "half")
			s.asks("J1", 13, end{verb: ack, rows: 7, result: done})
		}},
		"its worker died": {change: func(s *scene) {
			s.requests["J0"] = nil
			s.failures[0].text = "job J0 in w/q failed: " + lapsed
		}},
		"its worker was late": {change: func(s *scene) {
			s.requests["J0"] = nil
			s.asks("J0", 5, end{verb: ack, result: done})
			s.failures[0].text = "job J0 in w/q failed: " + lapsed
		}},
		"claimed with an answer that was lost": {change: func(s *scene) {
			delete(s.deliveries, "J0")
			delete(s.requests, "J0")
			s.failures[0].text = "job J0 in w/q failed: " + lapsed
			s.unseen = 1
		}},
		"deleted by people": {change: func(s *scene) {
			s.failures[0].text, s.deleted = "job J0 in w/q was deleted: emptied", 1
		}},

		"an order without its subtask":  {kind: judge.Lost, change: func(s *scene) { s.accepted[1] = []string{"a", "b"} }},
		"a subtask that nobody ordered": {kind: judge.Invented, change: func(s *scene) { s.accepted[1] = nil }},
		"a run that is open":            {kind: judge.Stuck, change: func(s *scene) { s.runs[0].state = task.RunRunning }},
		"a wrong count": {kind: judge.Broken, change: func(s *scene) {
			s.runs[0].counts[task.Succeeded] = 2
		}},
		"a wrong total": {kind: judge.Broken, change: func(s *scene) { s.runs[0].total = 2 }},
		"a subtask that never ended": {kind: judge.Lost, change: func(s *scene) {
			s.subtasks[0].state, s.runs[0].counts = task.Deferred, nil
		}},
		"a success of nobody": {kind: judge.Invented, change: func(s *scene) { s.requests["J1"] = nil }},
		"a success of a refused request": {kind: judge.Invented, change: func(s *scene) {
			s.requests["J1"][0].result = refused
		}},
		"rows that nobody reported": {kind: judge.Wrong, change: func(s *scene) { s.subtasks[0].rows = 8 }},
		"a failure of nobody":       {kind: judge.Invented, change: func(s *scene) { s.requests["J0"] = nil }},
		"a failure that is none of a job's": {kind: judge.Invented, change: func(s *scene) {
			s.failures[0].text = "the task took too long"
		}},
		"a failure by the job of another attempt": {kind: judge.Wrong, change: func(s *scene) {
			s.deliveries["J0"][0].part = "b"
		}},
		"deleted by nobody": {kind: judge.Invented, change: func(s *scene) {
			s.failures[0].text = "job J0 in w/q was deleted: emptied"
		}},
		"lapsed although it was ended in time": {kind: judge.Broken, change: func(s *scene) {
			s.failures[0].text = "job J0 in w/q failed: " + lapsed
		}},
		"lapsed without a claim": {kind: judge.Broken, change: func(s *scene) {
			delete(s.deliveries, "J0")
			delete(s.requests, "J0")
			s.failures[0].text = "job J0 in w/q failed: " + lapsed
		}},
		"an attempt that nobody failed": {kind: judge.Broken, change: func(s *scene) { s.failures = nil }},
		"an attempt that failed twice": {kind: judge.Doubled, change: func(s *scene) {
			s.failures = append(s.failures, s.failures[0])
		}},
		"an attempt with two jobs": {kind: judge.Doubled, change: func(s *scene) { s.claims("J2", 1, 10, "") }},
		"delivered after it was acknowledged": {kind: judge.Doubled, change: func(s *scene) {
			s.asks("J1", 10, end{verb: release, text: "x", result: done})
			s.claims("J1", 1, 20, "")
		}},
		"delivered twice": {kind: judge.Doubled, change: func(s *scene) {
			s.requests["J1"][0].result = unknown
			s.claims("J1", 1, 20, "")
		}},
		"a state of nobody":         {kind: judge.Wrong, change: func(s *scene) { s.deliveries["J1"][0].state = "x" }},
		"a job that is left":        {kind: judge.Stuck, change: func(s *scene) { s.kept = 1 }},
		"an end that is left":       {kind: judge.Stuck, change: func(s *scene) { s.watched = 1 }},
		"a subtask that is due":     {kind: judge.Stuck, change: func(s *scene) { s.due = 1 }},
		"a body that is no subtask": {kind: judge.Wrong, change: func(s *scene) { s.puzzles("job J3 has no body") }},
	} {
		s := newScene()
		c.change(s)
		problems := s.judge(s.tables, s.accepted, 4*time.Second)
		if c.kind == "" {
			require.Empty(t, problems, name)
			continue
		}
		require.Len(t, problems, 1, name)
		require.Equal(t, c.kind, problems[0].Kind, "%s: %s", name, problems[0].Text)
	}
}
