package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// died makes a run of subtasks that all failed with a text, a second after each other.
func died(t *testing.T, s *store.Store, taskID int64, at time.Time, text string, keys ...task.Key) int64 {
	t.Helper()
	r := newRun(t, s, at, keys...)
	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		o := r.outcome(k.AccountID, 1, task.Failed)
		o.Part, o.TaskID, o.ErrorText, o.EndedAt = k.Part, taskID, text, at.Add(time.Duration(i)*time.Second)
		if taskID == 8 {
			o.Media, o.ErrorClass = "other", "invalid"
		}
		outcomes[i] = o
	}
	require.Zero(t, apply(t, s, outcomes...))
	return r.run
}

func listDead(t *testing.T, s *store.Store, f task.DeadFilter) []dead.DeadSubtask {
	t.Helper()
	all, _, err := s.ListDead(t.Context(), f, dead.DeadPlace{}, 10_000)
	require.NoError(t, err)
	return all
}

func TestDead_IsFoundByEachFilter(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	first := died(t, s, 7, outcomeTime, "timeout after 30 s of 100% a_b", accounts(3)...)
	second := died(t, s, 8, outcomeTime.Add(time.Minute), "account 5 is closed", task.Key{AccountID: 2, Part: "x"})

	for _, test := range []struct {
		name   string
		filter task.DeadFilter
		want   int
	}{
		{"nothing chooses all", task.DeadFilter{}, 4},
		{"task", task.DeadFilter{TaskID: 8}, 1},
		{"media", task.DeadFilter{Media: "acme"}, 3},
		{"account", task.DeadFilter{AccountID: 2}, 2},
		{"run", task.DeadFilter{RunID: first}, 3},
		{"print", task.DeadFilter{Print: "account ? is closed"}, 1},
		{"a piece of a print is none", task.DeadFilter{Print: "account"}, 0},
		{"class", task.DeadFilter{Class: "invalid"}, 1},
		{"a piece of the text", task.DeadFilter{Text: "0% a_"}, 3},
		{"a piece of the text without special letters", task.DeadFilter{Text: "0%b"}, 0},
		{"since", task.DeadFilter{Since: outcomeTime.Add(time.Second)}, 3},
		{"until", task.DeadFilter{Until: outcomeTime.Add(time.Second)}, 2},
		{"several", task.DeadFilter{AccountID: 2, Class: "invalid", RunID: second}, 1},
		{"several that no one meets", task.DeadFilter{AccountID: 3, Class: "invalid"}, 0},
	} {
		require.Len(t, listDead(t, s, test.filter), test.want, test.name)
		counts, err := s.CountDead(ctx, test.filter)
		require.NoError(t, err)
		var n int64
		for _, c := range counts {
			n += c.Free
		}
		require.EqualValues(t, test.want, n, test.name)
		groups, _, err := s.DeadGroups(ctx, test.filter, 10)
		require.NoError(t, err)
		n = 0
		for _, g := range groups {
			n += g.Count
		}
		require.EqualValues(t, test.want, n, test.name)
	}

	counts, err := s.CountDead(ctx, task.DeadFilter{})
	require.NoError(t, err)
	require.Equal(t, []dead.DeadCount{
		{TaskID: 7, TaskName: "report", Free: 3, OldestRun: first, NewestRun: first},
		{TaskID: 8, TaskName: "report", Free: 1, OldestRun: second, NewestRun: second},
	}, counts)
	groups, _, err := s.DeadGroups(ctx, task.DeadFilter{}, 10)
	require.NoError(t, err)
	require.Equal(t, []dead.DeadGroup{
		{
			Print: "timeout after ? s of ?% a_b", Count: 3, First: outcomeTime, Last: outcomeTime.Add(2 * time.Second),
			Example: "timeout after 30 s of 100% a_b", Classes: []string{"transient"}, TaskIDs: []int64{7},
		},
		{
			Print: "account ? is closed", Count: 1, First: outcomeTime.Add(time.Minute), Last: outcomeTime.Add(time.Minute),
			Example: "account 5 is closed", Classes: []string{"invalid"}, TaskIDs: []int64{8},
		},
	}, groups)
	byMedia, err := s.CountDeadByMedia(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"acme": 3, "other": 1}, byMedia)

	one, err := s.DeadSubtask(ctx, task.Key{RunID: second, AccountID: 2, Part: "x"})
	require.NoError(t, err)
	require.Equal(t, dead.DeadSubtask{
		Key: task.Key{RunID: second, AccountID: 2, Part: "x"}, TaskID: 8, TaskName: "report", Media: "other", Attempt: 1,
		ErrorClass: "invalid", ErrorPrint: "account ? is closed", ErrorText: "account 5 is closed", DeadAt: outcomeTime.Add(time.Minute),
	}, one)
	log, err := s.SubtaskLog(ctx, one.Key)
	require.NoError(t, err)
	require.Equal(t, task.Failed, log.State)
	require.EqualValues(t, 2, log.Calls)
	require.NoError(t, s.DropLogTable(ctx, task.LogDay(second)))
	_, err = s.SubtaskLog(ctx, one.Key)
	require.ErrorIs(t, err, sqldb.ErrNotFound)
	_, err = s.DeadSubtask(ctx, task.Key{RunID: second, AccountID: 3, Part: "x"})
	require.ErrorIs(t, err, sqldb.ErrNotFound)
}

// manyParts are subtasks of seven accounts, one of which has five.
func manyParts() []task.Key {
	keys := accounts(7)
	for i := range 4 {
		keys = append(keys, task.Key{AccountID: 3, Part: fmt.Sprint("p", i)})
	}
	return keys
}

// A page that no index serves looks at some of them and ends there: those who ask on come to each once.
func TestDead_PagesOfASearchHaveEachRowOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := manyParts()
	died(t, s, 7, outcomeTime, "the code is é", keys...)
	died(t, s, 7, outcomeTime, "the code is É", keys...) // at the same times
	died(t, s, 8, outcomeTime, "the code is é", keys...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET dead_at = ? WHERE account_id = 3", sqldb.At(outcomeTime)).Error)
	for _, f := range []task.DeadFilter{
		{Text: "is é"}, {Text: "É"}, {Text: "nobody"}, {Text: "code"}, {TaskID: 7, Text: "é"}, {AccountID: 3, Text: "É"}, {Media: "acme", Class: "transient"},
		{Text: "é", Since: outcomeTime.Add(time.Second), Until: outcomeTime.Add(3 * time.Second)},
	} {
		s.Reach.Dead = 1000
		whole, end, err := s.ListDead(t.Context(), f, dead.DeadPlace{}, 100)
		require.NoError(t, err)
		require.Zero(t, end)
		for look := 1; look <= 12; look++ {
			s.Reach.Dead = look
			var all []dead.DeadSubtask
			for place := (dead.DeadPlace{}); ; {
				page, end, err := s.ListDead(t.Context(), f, place, 3)
				require.NoError(t, err)
				all = append(all, page...)
				require.LessOrEqual(t, len(page), look)
				switch {
				case len(page) == 3:
					require.Zero(t, end)
					place = dead.DeadPlace{At: page[2].DeadAt, Key: page[2].Key}
					continue
				case !end.At.IsZero():
					place = end
					continue
				}
				break
			}
			require.Equal(t, whole, all, "%+v, %d at a time", f, look)
		}
	}
}

// What a text chooses is added up here, all else by the database.
func TestDead_GroupsOfATextAreThoseOfAll(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	died(t, s, 7, outcomeTime, "timeout after 30 s", accounts(5)...)
	died(t, s, 8, outcomeTime.Add(time.Hour), "timeout after 40 s", accounts(3)...)
	died(t, s, 9, outcomeTime.Add(-time.Hour), "timeout of all", accounts(3)...)
	died(t, s, 9, outcomeTime, "gone", accounts(2)...)
	want, total, err := s.DeadGroups(t.Context(), task.DeadFilter{}, 10)
	require.NoError(t, err)
	got, of, err := s.DeadGroups(t.Context(), task.DeadFilter{Text: "timeout"}, 10)
	require.NoError(t, err)
	require.Len(t, want, 3)
	require.Equal(t, "timeout after ? s", got[0].Print)
	require.Equal(t, want[:2], got)
	require.Equal(t, dead.DeadTotal{All: total.All - 2}, of)
	require.Equal(t, []int64{7, 8}, got[0].TaskIDs)
	require.Equal(t, []string{"invalid", "transient"}, got[0].Classes)
}

func TestDead_PagesHaveEachRowOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := manyParts()
	died(t, s, 7, outcomeTime, "a", keys...)
	died(t, s, 7, outcomeTime, "b", keys...) // at the same times
	// And many at one time.
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET dead_at = ? WHERE account_id = 3", sqldb.At(outcomeTime)).Error)

	whole := listDead(t, s, task.DeadFilter{})
	require.Len(t, whole, 22)
	require.True(t, slices.IsSortedFunc(whole, func(a, b dead.DeadSubtask) int { return b.DeadAt.Compare(a.DeadAt) }), "the last first")
	for limit := 1; limit <= 5; limit++ {
		var all []dead.DeadSubtask
		for place := (dead.DeadPlace{}); ; {
			page, _, err := s.ListDead(t.Context(), task.DeadFilter{}, place, limit)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			all = append(all, page...)
			last := page[len(page)-1]
			place = dead.DeadPlace{At: last.DeadAt, Key: last.Key}
		}
		require.Equal(t, whole, all)
	}
}

func TestDeadTask_IsFoundByTheNameOfItsNewestRun(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	rename := func(runID int64, name string) {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET task_name = ? WHERE id = ?", name, runID).Error)
	}
	rename(died(t, s, 7, outcomeTime, "a", accounts(3)...), "old")
	rename(died(t, s, 7, outcomeTime.Add(time.Hour), "b", accounts(2)...), "new")
	rename(died(t, s, 8, outcomeTime, "c", accounts(2)...), "other")
	for name, want := range map[string]int64{"new": 7, "other": 8, "old": 0, "none": 0} {
		id, err := s.DeadTask(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, id, name)
	}
}

func TestDropDead_LeavesWhatIsBeingTakenUp(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	l := lead(t, s, "a")
	died(t, s, 7, outcomeTime, "a", accounts(613)...)
	other := died(t, s, 8, outcomeTime, "b", accounts(2)...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{AccountID: 1, TaskID: 7}, task.NewRunID(outcomeTime)))

	n, err := s.DropDead(ctx, task.DeadFilter{TaskID: 7}, 550)
	require.NoError(t, err)
	require.EqualValues(t, 550, n)
	n, err = s.DropDead(ctx, task.DeadFilter{TaskID: 7}, 10_000)
	require.NoError(t, err)
	require.EqualValues(t, 62, n)
	left := listDead(t, s, task.DeadFilter{})
	require.Len(t, left, 3)
	for _, d := range left {
		require.True(t, d.RunID == other || d.AccountID == 1 && d.RedriveRun > 0)
	}
}

// made makes subtasks of a run that takes dead ones up.
func made(t *testing.T, s *store.Store, l lease.Lease, runID int64, parts []ledger.AccountPart) {
	t.Helper()
	require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{someRun(runID, outcomeTime)}))
	require.NoError(t, s.EnsureLogTable(t.Context(), task.LogDay(runID)))
	require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{someRun(runID, outcomeTime)}))
	require.NoError(t, addSubtasks(t.Context(), s, l, runID, parts, outcomeTime))
}

func TestRedrive_MarksReadsAndSettles(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	l := lead(t, s, "a")
	keys := accounts(510)
	for i := range 30 {
		keys = append(keys, task.Key{AccountID: 50, Part: fmt.Sprintf("e%02d", i)})
	}
	died(t, s, 7, outcomeTime, "a", keys...)
	died(t, s, 7, outcomeTime, "b", accounts(510)...) // the same accounts and parts again
	died(t, s, 8, outcomeTime, "c", accounts(3)...)

	runID := task.NewRunID(outcomeTime.Add(time.Hour))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{TaskID: 7, Text: "a"}, runID))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{TaskID: 7}, runID), "a step done again, and further")
	later := task.NewRunID(outcomeTime.Add(2 * time.Hour))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{}, later), "takes what the first has left")
	redrives, err := s.Redrives(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{runID, later}, redrives)
	counts, err := s.CountDead(ctx, task.DeadFilter{})
	require.NoError(t, err)
	require.Equal(t, []int64{1050, 0, 3, 0}, []int64{counts[0].Redriving, counts[0].Free, counts[1].Redriving, counts[1].Free})

	for _, limit := range []int{7, 20, 400, 5000} {
		var all []ledger.AccountPart
		after, last := int64(0), false
		for !last {
			var parts []ledger.AccountPart
			var through int64
			parts, through, last, err = s.MarkedParts(ctx, runID, after, limit)
			require.NoError(t, err)
			for _, p := range parts {
				require.Greater(t, p.AccountID, after)
				require.LessOrEqual(t, p.AccountID, through)
			}
			all, after = append(all, parts...), through
		}
		require.Len(t, all, 540, "each account and part once")
		require.Len(t, slices.CompactFunc(all, func(a, b ledger.AccountPart) bool { return a == b }), 540)
	}

	// Two of its accounts were not made; of the others some ended in each way, and some not at all.
	parts, _, _, err := s.MarkedParts(ctx, runID, 2, 5000)
	require.NoError(t, err)
	made(t, s, l, runID, parts)
	ends := map[int64]task.State{7: task.Expired, 8: task.Cancelled, 9: task.Failed, 10: task.Superseded, 11: task.Retrying}
	var outcomes []ledger.Outcome
	for _, p := range parts {
		o := ledger.Outcome{
			Key: task.Key{RunID: runID, AccountID: p.AccountID, Part: p.Part}, Media: "acme", TaskID: 7, Delivery: 1,
			State: task.Succeeded, Attempt: 1, ErrorText: "again", EndedAt: outcomeTime, DueAt: outcomeTime,
		}
		if end, otherwise := ends[p.AccountID]; otherwise {
			o.State = end
		}
		if p.AccountID != 12 {
			outcomes = append(outcomes, o)
		}
	}
	apply(t, s, outcomes...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{RunID: runID}, runID))
	require.NoError(t, s.SettleRedrive(ctx, l, runID))
	require.NoError(t, s.SettleRedrive(ctx, l, runID), "settled already")
	left := map[int64]int{}
	for _, d := range listDead(t, s, task.DeadFilter{TaskID: 7}) {
		require.Zero(t, d.RedriveRun)
		require.Equal(t, d.AccountID == 9, d.RunID == runID, "what died in the run itself is not its own to settle")
		left[d.AccountID]++
	}
	require.Equal(t, map[int64]int{1: 2, 2: 2, 7: 2, 8: 2, 9: 1, 11: 2, 12: 2}, left)
	require.Len(t, listDead(t, s, task.DeadFilter{TaskID: 8}), 3)

	// A leader of another time changes nothing.
	lead(t, s, "b")
	require.ErrorIs(t, s.SettleRedrive(ctx, l, later), lease.ErrStaleLease)
	require.ErrorIs(t, s.MarkDead(ctx, l, task.DeadFilter{}, runID), lease.ErrStaleLease)
	require.Len(t, listDead(t, s, task.DeadFilter{}), 13+3)
}

func TestTaskPace_IsThatOfTheLargestOfTheNewestRuns(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	pace, err := s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{Calls: -1}, pace, "unknown")

	died(t, s, 7, outcomeTime, "a", accounts(3)...)
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{Calls: -1}, pace, "failures tell nothing")

	r := newRun(t, s, outcomeTime, accounts(10)...)
	for account := range int64(10) {
		o := r.outcome(account+1, 1, task.Succeeded)
		o.Calls = int(account%2) + 1
		o.EndedAt = outcomeTime.Add(5 * time.Second)
		apply(t, s, o)
	}
	small := newRun(t, s, outcomeTime, accounts(1)...)
	apply(t, s, small.outcome(1, 1, task.Succeeded))
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{PerSecond: 2, Calls: 1.5}, pace)

	require.NoError(t, s.DropLogTable(ctx, task.LogDay(r.run)))
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{PerSecond: 2, Calls: -1}, pace)
}
