package judge

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// story is the history of a small deployment: one task over two accounts with a tick every 10 s, and one order.
type story struct {
	snapshots []Snapshot
	facts     Facts
}

func subtask(runID, accountID int64, state task.State, created float64) Row {
	r := Row{Key: task.Key{RunID: runID, AccountID: accountID, Part: "today"}, State: state, Delivery: 1,
		Created: at(created)}
	if !state.Open() {
		r.Ended = at(created + 2)
	}
	return r
}

// healthy is a story in which every promise is kept: a tick at 10 s, whose account 2 waits for a retry in between, one
// at 20 s, and an order at 22 s. The leader changes after the first tick.
func healthy() *story {
	tick1, tick2 := Tick{TaskID: 7, Planned: at(10), RunID: 100}, Tick{TaskID: 7, Planned: at(20), RunID: 200}
	run1 := Run{ID: 100, TaskID: 7, TaskName: "now", Media: "m", Kind: "tick", Planned: at(10), State: task.RunFanningOut,
		Epoch: 1, Created: at(10)}
	run2 := Run{ID: 200, TaskID: 7, TaskName: "now", Media: "m", Kind: "tick", Planned: at(20), State: task.RunRunning,
		Epoch: 2, Cursor: 1, Total: new(int64(2)), Created: at(20), FannedOut: at(20.5)}
	order := Run{ID: 300, TaskID: 7, TaskName: "now", Media: "m", Kind: "order", Planned: at(22), State: task.RunRunning,
		Epoch: 2, Total: new(int64(1)), Created: at(22), FannedOut: at(22)}
	ended := func(r Run, n int64) Run {
		r.State, r.Counts, r.Ended = task.RunSucceeded, map[task.State]int64{task.Succeeded: n}, r.Created.Add(5*time.Second)
		return r
	}
	running := run1
	running.State, running.Total, running.Cursor, running.FannedOut = task.RunRunning, new(int64(2)), 1, at(10.5)
	running.Counts = map[task.State]int64{task.Succeeded: 1}

	done := func(runID, accountID int64, created float64) Row {
		return subtask(runID, accountID, task.Succeeded, created)
	}
	retrying := subtask(100, 2, task.Retrying, 10)
	retrying.Attempt = 1
	again := retrying
	again.State, again.Delivery = task.Waiting, 2
	mended := again
	mended.State, mended.Ended = task.Succeeded, at(16)

	report := Report{Day: "2026-11-21", AccountID: 1, Level: "account"}
	scope := Scope{AccountID: 1, Report: "report_daily", Level: "account", Day: "2026-11-21"}
	results := func(version int64) (map[Report]int64, map[Scope]int64) {
		return map[Report]int64{report: version}, map[Scope]int64{scope: version}
	}
	s := &story{
		snapshots: []Snapshot{
			{At: at(0), Epoch: 1},
			{At: at(10.2), Epoch: 1, Ticks: []Tick{tick1}, Runs: []Run{run1}, Rows: []Row{subtask(100, 1, task.Waiting, 10)}},
			{
				At: at(13), Epoch: 1, Ticks: []Tick{tick1}, Runs: []Run{running}, Rows: []Row{done(100, 1, 10), retrying},
				Due: []Due{{Key: retrying.Key, State: "retrying", Delivery: 1}},
			},
			{
				At: at(15), Epoch: 2, Ticks: []Tick{tick1}, Runs: []Run{running}, Rows: []Row{done(100, 1, 10), again},
				Due: []Due{{Key: again.Key, State: DueSent, Delivery: 2}},
			},
			{At: at(17), Epoch: 2, Ticks: []Tick{tick1}, Runs: []Run{ended(run1, 2)}, Rows: []Row{done(100, 1, 10), mended}},
			{
				At: at(23), Epoch: 2, Ticks: []Tick{tick1, tick2}, Runs: []Run{ended(run1, 2), run2, order},
				Rows: []Row{done(100, 1, 10), mended, subtask(200, 1, task.Waiting, 20), subtask(200, 2, task.Waiting, 20),
					subtask(300, 2, task.Waiting, 22)},
			},
			{
				At: at(29), Epoch: 2, Ticks: []Tick{tick1, tick2}, Runs: []Run{ended(run1, 2), ended(run2, 2), ended(order, 1)},
				Rows: []Row{done(100, 1, 10), mended, done(200, 1, 20), done(200, 2, 20), done(300, 2, 22)},
			},
		},
		facts: Facts{
			Tasks:    []Task{{ID: 7, Name: "now", Media: "m", Every: 10 * time.Second, Since: at(5)}},
			Accounts: map[string][]int64{"m": {1, 2}}, Orders: []Order{{RunID: 300, Accounts: []int64{2}}},
			Until: at(25), Struck: 1, StallMax: 10 * time.Second, Followed: []int64{100, 200},
			Outcomes: []Outcome{{"7/1", 1, 100, "today", "succeeded"}, {"7/2", 1, 100, "today", "succeeded"},
				{"7/1", 2, 200, "today", "succeeded"}, {"7/2", 2, 200, "today", "succeeded"}},
		},
	}
	// The cursor and the total of an ended run do not change.
	for i := range s.snapshots {
		s.snapshots[i].Daily, s.snapshots[i].Claims = results(int64(1000 + i))
		for k := range s.snapshots[i].Runs {
			if r := &s.snapshots[i].Runs[k]; r.ID == 100 && r.State == task.RunSucceeded {
				r.Cursor, r.Total, r.FannedOut = 1, new(int64(2)), at(10.5)
			}
		}
	}
	return s
}

func (s *story) judge() Verdict {
	var w Watch
	for _, snapshot := range s.snapshots {
		w.Observe(snapshot)
	}
	return w.Judge(s.facts)
}

// row returns a subtask of a snapshot.
func (s *story) row(snapshot int, runID, accountID int64) *Row {
	rows := s.snapshots[snapshot].Rows
	return &rows[slices.IndexFunc(rows, func(r Row) bool { return r.RunID == runID && r.AccountID == accountID })]
}

func (s *story) run(snapshot int, runID int64) *Run {
	runs := s.snapshots[snapshot].Runs
	return &runs[slices.IndexFunc(runs, func(r Run) bool { return r.ID == runID })]
}

// without removes the rows that match, from a snapshot on.
func (s *story) without(from int, match func(Row) bool) {
	for i := from; i < len(s.snapshots); i++ {
		s.snapshots[i].Rows = slices.DeleteFunc(s.snapshots[i].Rows, match)
	}
}

func TestJudge_PassesWhatKeptItsPromises(t *testing.T) {
	t.Parallel()
	v := healthy().judge()
	require.Empty(t, v.Problems)
	require.Equal(t, Verdict{Struck: 1, Subtasks: 5, Redelivered: 1, LongestStall: 6, Verdict: Pass, Problems: v.Problems},
		v)

	s := healthy()
	s.facts.Struck = 0
	require.Equal(t, Void, s.judge().Verdict, "a fault that did not strike proves nothing")

	s = healthy()
	s.facts.Unproved = []string{"serial"}
	require.Equal(t, Void, s.judge().Verdict)
	s.facts.WrongRows = 1
	require.Equal(t, Fail, s.judge().Verdict, "what is wrong is wrong")
}

func TestJudge_FindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	last := len(healthy().snapshots) - 1
	tests := []struct {
		name  string
		spoil func(*story)
		kind  Kind
		text  string
	}{
		{"a subtask that never ends", func(s *story) { *s.row(last, 200, 1) = subtask(200, 1, task.Waiting, 20) }, Lost,
			"never ended"},
		{"a row that is gone", func(s *story) {
			s.without(5, func(r Row) bool { return r.RunID == 100 && r.AccountID == 1 })
		}, Lost, "is gone"},
		{"an account that was left out", func(s *story) {
			s.without(0, func(r Row) bool { return r.RunID == 200 && r.AccountID == 2 })
			for i := 5; i <= last; i++ {
				s.run(i, 200).Total = new(int64(1))
			}
			s.run(last, 200).Counts = map[task.State]int64{task.Succeeded: 1}
		}, Lost, "no subtask for account 2"},
		{"an account that nobody asked for", func(s *story) { s.facts.Accounts["m"] = []int64{1} }, Invented, "account 2"},
		{"a moment without a tick", func(s *story) { s.facts.Until = at(30) }, Lost, "has no tick"},
		{"a tick that the cron does not have", func(s *story) { s.facts.Tasks[0].Every = 20 * time.Second }, Invented,
			"no moment of its cron"},
		{"a tick without a run", func(s *story) {
			s.snapshots[last].Ticks = append(s.snapshots[last].Ticks, Tick{TaskID: 8, Planned: at(24), RunID: 400})
		}, Lost, "has no run"},
		{"a run without a tick", func(s *story) { s.snapshots[last].Ticks = s.snapshots[last].Ticks[:1] }, Invented,
			"has no tick"},
		{"two runs of one moment", func(s *story) { s.run(last, 300).Kind, s.run(last, 300).Planned = "tick", at(20) },
			Doubled, "two runs"},
		{"an order that was forgotten", func(s *story) { s.facts.Orders = append(s.facts.Orders, Order{RunID: 999}) }, Lost,
			"order 999"},
		{"an order for another account", func(s *story) { s.facts.Orders[0].Accounts = []int64{1} }, Lost,
			"no subtask for account 1"},
		{"a run of an older term", func(s *story) { s.run(5, 200).Epoch = 1 }, Fence, "made by epoch 1 after epoch 2"},
		{"terms that interleave", func(s *story) {
			for i := 5; i <= last; i++ {
				s.run(i, 300).Epoch, s.run(i, 200).Epoch = 2, 3
				s.snapshots[i].Epoch = 3
			}
		}, Fence, "after the first run of epoch 3"},
		{"an epoch that falls", func(s *story) { s.snapshots[last].Epoch = 1 }, Fence, "fell from 2 to 1"},
		{"a cursor that goes back", func(s *story) { s.run(last, 200).Cursor = 0 }, Fence, "went back"},
		{"a count above the rows", func(s *story) { s.run(2, 100).Counts[task.Succeeded] = 2 }, Doubled, "counts 2"},
		{"a count below the rows", func(s *story) { s.run(2, 100).Counts = nil }, Lost, "counts 0"},
		{"a total that is not the rows", func(s *story) {
			for i := 5; i <= last; i++ {
				s.run(i, 300).Total = new(int64(2))
			}
		}, Broken, "a total of 2 and 1 rows"},
		{"a run that ends too early", func(s *story) { s.run(5, 200).State = task.RunSucceeded }, Broken,
			"with 2 subtasks open"},
		{"a run that begins again", func(s *story) { s.run(last, 100).State = task.RunRunning }, Broken,
			"left its end state"},
		{"an end state that is left", func(s *story) {
			r := subtask(100, 1, task.Failed, 10)
			*s.row(last, 100, 1) = r
			s.facts.MayFail = true
		}, Doubled, "changed afterwards"},
		{"an end that is written again", func(s *story) { s.row(last, 100, 1).Ended = at(25) }, Doubled,
			"changed afterwards"},
		{"a delivery that falls", func(s *story) { s.row(4, 100, 2).Delivery = 1 }, Broken, "fell from 2 to 1"},
		{"a retry that nobody will wake", func(s *story) { s.snapshots[2].Due = nil }, Broken, "not due"},
		{"a due row of what has ended", func(s *story) { s.snapshots[4].Due = s.snapshots[3].Due }, Broken, "due as sent"},
		{"a due row that stays", func(s *story) { s.snapshots[last].Due = s.snapshots[3].Due }, Stuck, "still due"},
		{"a failure that nothing explains", func(s *story) {
			s.row(last, 200, 1).State = task.Failed
			s.run(last, 200).Counts = map[task.State]int64{task.Succeeded: 1, task.Failed: 1}
		}, Lost, "ended as failed"},
		{"a version that falls", func(s *story) {
			for k := range maps.Keys(s.snapshots[last].Daily) {
				s.snapshots[last].Daily[k] = 5
			}
		}, Wrong, "version of a row"},
		{"a claim that falls", func(s *story) { clear(s.snapshots[last].Claims) }, Wrong, "claimed version"},
		{"rows that are not the truth", func(s *story) {
			s.facts.WrongRows, s.facts.Examples = 1,
				[]string{"cost is 1, the truth is 2"}
		}, Wrong, "the truth is 2"},
		{"an outcome that is missing", func(s *story) { s.facts.Outcomes = s.facts.Outcomes[:2] }, Lost,
			"no outcome says that subtask 200/1"},
		{"an outcome that comes too late", func(s *story) {
			s.facts.Outcomes[0], s.facts.Outcomes[2] = s.facts.Outcomes[2], s.facts.Outcomes[0]
		}, Lost, "the outcome 2 of 7/1 came after 0"},
		{"a subtask that ends twice", func(s *story) {
			again := s.facts.Outcomes[2]
			again.Seq = 3
			s.facts.Outcomes = append(s.facts.Outcomes, again)
		}, Doubled, "2 outcomes say that subtask 200/1"},
		{"an outcome with another state", func(s *story) { s.facts.Outcomes[1].State = "timeout" }, Wrong,
			"is timeout, and its row is succeeded"},
		{"an outcome of no subtask", func(s *story) {
			s.facts.Outcomes = append(s.facts.Outcomes, Outcome{Key: "7/9", Seq: 1, RunID: 100, Part: "today", State: "failed"})
		}, Wrong, "which has no such end"},
		{"calls over a limit", func(s *story) { s.facts.Overspent = 3 }, Overrun, "3 calls were refused"},
		{"a stall", func(s *story) { s.facts.StallMax = time.Second }, Harmed, "nothing was done for 6.0 s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := healthy()
			tt.spoil(s)
			v := s.judge()
			require.Equal(t, Fail, v.Verdict)
			require.True(t, slices.ContainsFunc(v.Problems, func(p Problem) bool {
				return p.Kind == tt.kind && strings.Contains(p.Text, tt.text)
			}), "want %s: %s\ngot %+v", tt.kind, tt.text, v.Problems)
		})
	}
}

func TestJudge_ExcusesWhatOverlaps(t *testing.T) {
	t.Parallel()
	s := healthy()
	// The second run leaves account 2 out because the first run's subtask was still open.
	s.without(0, func(r Row) bool { return r.RunID == 200 && r.AccountID == 2 })
	last := len(s.snapshots) - 1
	for i := 5; i <= last; i++ {
		s.run(i, 200).Total = new(int64(1))
	}
	s.run(last, 200).Counts = map[task.State]int64{task.Succeeded: 1}
	for i := 4; i <= last; i++ {
		s.row(i, 100, 2).Ended = at(21)
	}
	s.facts.Followed, s.facts.Outcomes = nil, nil
	require.Empty(t, s.judge().Problems)
}

func TestWatch_WritesTheHistoryDown(t *testing.T) {
	t.Parallel()
	var w Watch
	var texts []string
	for _, snapshot := range healthy().snapshots {
		for _, c := range w.Observe(snapshot) {
			texts = append(texts, c.What+": "+c.Was+" > "+c.Is)
		}
	}
	require.Contains(t, texts, "subtask 100/2/today: retrying delivery=1 attempt=1 > waiting delivery=2 attempt=1")
	require.Contains(t, texts, "leader: 1 > 2")
}
