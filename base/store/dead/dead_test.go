package dead_test

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

func TestDead_IsFoundByEachFilter(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	first := storetest.Died(t, s, 7, storetest.Moment, "timeout after 30 s of 100% a_b", storetest.Keys(3)...)
	second := storetest.Died(t, s, 8, storetest.Moment.Add(time.Minute), "account 5 is closed",
		task.Key{AccountID: 2, Part: "x"})

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
		{"a part of a print is not a print", task.DeadFilter{Print: "account"}, 0},
		{"class", task.DeadFilter{Class: "invalid"}, 1},
		{"a piece of the text", task.DeadFilter{Text: "0% a_"}, 3},
		{"a piece of the text has no wildcards", task.DeadFilter{Text: "0%b"}, 0},
		{"since", task.DeadFilter{Since: storetest.Moment.Add(time.Second)}, 3},
		{"until", task.DeadFilter{Until: storetest.Moment.Add(time.Second)}, 2},
		{"several", task.DeadFilter{AccountID: 2, Class: "invalid", RunID: second}, 1},
		{"several that no row meets", task.DeadFilter{AccountID: 3, Class: "invalid"}, 0},
	} {
		require.Len(t, storetest.ListDead(t, s, test.filter), test.want, test.name)
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
			Print: "timeout after ? s of ?% a_b", Count: 3, First: storetest.Moment, Last: storetest.Moment.Add(2 * time.Second),
			Example: "timeout after 30 s of 100% a_b", Classes: []string{"transient"}, TaskIDs: []int64{7},
		},
		{
			Print: "account ? is closed", Count: 1, First: storetest.Moment.Add(time.Minute),
			Last:    storetest.Moment.Add(time.Minute),
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
		ErrorClass: "invalid", ErrorPrint: "account ? is closed", ErrorText: "account 5 is closed",
		DeadAt: storetest.Moment.Add(time.Minute),
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

// manyParts returns subtasks of seven accounts, one of which has five.
func manyParts() []task.Key {
	keys := storetest.Keys(7)
	for i := range 4 {
		keys = append(keys, task.Key{AccountID: 3, Part: fmt.Sprint("p", i)})
	}
	return keys
}

// A page that no index serves reads some rows and ends there: all pages together return each row once.
func TestListDead_PagesOfASearchReturnEachRowOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := manyParts()
	storetest.Died(t, s, 7, storetest.Moment, "the code is é", keys...)
	storetest.Died(t, s, 7, storetest.Moment, "the code is É", keys...) // at the same times
	storetest.Died(t, s, 8, storetest.Moment, "the code is é", keys...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET dead_at = ? WHERE account_id = 3",
		sqldb.At(storetest.Moment)).Error)
	for _, f := range []task.DeadFilter{
		{Text: "is é"}, {Text: "É"}, {Text: "nobody"}, {Text: "code"}, {TaskID: 7, Text: "é"}, {AccountID: 3, Text: "É"},
		{Media: "acme", Class: "transient"},
		{Text: "é", Since: storetest.Moment.Add(time.Second), Until: storetest.Moment.Add(3 * time.Second)},
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

// Groups by text are added up here, all others by the database.
func TestDeadGroups_OfATextEqualThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	storetest.Died(t, s, 7, storetest.Moment, "timeout after 30 s", storetest.Keys(5)...)
	storetest.Died(t, s, 8, storetest.Moment.Add(time.Hour), "timeout after 40 s", storetest.Keys(3)...)
	storetest.Died(t, s, 9, storetest.Moment.Add(-time.Hour), "timeout of all", storetest.Keys(3)...)
	storetest.Died(t, s, 9, storetest.Moment, "gone", storetest.Keys(2)...)
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

func TestListDead_PagesReturnEachRowOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := manyParts()
	storetest.Died(t, s, 7, storetest.Moment, "a", keys...)
	storetest.Died(t, s, 7, storetest.Moment, "b", keys...) // at the same times
	// And many at one time.
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET dead_at = ? WHERE account_id = 3",
		sqldb.At(storetest.Moment)).Error)

	whole := storetest.ListDead(t, s, task.DeadFilter{})
	require.Len(t, whole, 22)
	require.True(t, slices.IsSortedFunc(whole, func(a, b dead.DeadSubtask) int { return b.DeadAt.Compare(a.DeadAt) }),
		"the newest first")
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
	rename(storetest.Died(t, s, 7, storetest.Moment, "a", storetest.Keys(3)...), "old")
	rename(storetest.Died(t, s, 7, storetest.Moment.Add(time.Hour), "b", storetest.Keys(2)...), "new")
	rename(storetest.Died(t, s, 8, storetest.Moment, "c", storetest.Keys(2)...), "other")
	for name, want := range map[string]int64{"new": 7, "other": 8, "old": 0, "none": 0} {
		id, err := s.DeadTask(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, id, name)
	}
}

func TestDropDead_LeavesRowsOfARedrive(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	l := storetest.Lead(t, s, "a")
	storetest.Died(t, s, 7, storetest.Moment, "a", storetest.Keys(613)...)
	other := storetest.Died(t, s, 8, storetest.Moment, "b", storetest.Keys(2)...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{AccountID: 1, TaskID: 7}, task.NewRunID(storetest.Moment)))

	n, err := s.DropDead(ctx, task.DeadFilter{TaskID: 7}, 550)
	require.NoError(t, err)
	require.EqualValues(t, 550, n)
	n, err = s.DropDead(ctx, task.DeadFilter{TaskID: 7}, 10_000)
	require.NoError(t, err)
	require.EqualValues(t, 62, n)
	left := storetest.ListDead(t, s, task.DeadFilter{})
	require.Len(t, left, 3)
	for _, d := range left {
		require.True(t, d.RunID == other || d.AccountID == 1 && d.RedriveRun > 0)
	}
}

// made makes a run's subtasks that redrive dead ones.
func made(t *testing.T, s *store.Store, l lease.Lease, runID int64, parts []ledger.AccountPart) {
	t.Helper()
	require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{storetest.SomeRun(runID, storetest.Moment)}))
	require.NoError(t, s.EnsureLogTable(t.Context(), task.LogDay(runID)))
	require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{storetest.SomeRun(runID, storetest.Moment)}))
	require.NoError(t, storetest.AddSubtasks(t.Context(), s, l, runID, parts, storetest.Moment))
}

func TestRedrive_MarksReadsAndSettles(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := t.Context()
	l := storetest.Lead(t, s, "a")
	keys := storetest.Keys(510)
	for i := range 30 {
		keys = append(keys, task.Key{AccountID: 50, Part: fmt.Sprintf("e%02d", i)})
	}
	storetest.Died(t, s, 7, storetest.Moment, "a", keys...)
	storetest.Died(t, s, 7, storetest.Moment, "b", storetest.Keys(510)...) // the same accounts and parts again
	storetest.Died(t, s, 8, storetest.Moment, "c", storetest.Keys(3)...)

	runID := task.NewRunID(storetest.Moment.Add(time.Hour))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{TaskID: 7, Text: "a"}, runID))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{TaskID: 7}, runID), "a step that is repeated and completed")
	later := task.NewRunID(storetest.Moment.Add(2 * time.Hour))
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{}, later), "it marks those that the first left")
	redrives, err := s.Redrives(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{runID, later}, redrives)
	counts, err := s.CountDead(ctx, task.DeadFilter{})
	require.NoError(t, err)
	require.Equal(t, []int64{1050, 0, 3, 0}, []int64{counts[0].Redriving, counts[0].Free, counts[1].Redriving,
		counts[1].Free})

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

	// Two of its accounts were not made. Of the others some ended in each way, and some not at all.
	parts, _, _, err := s.MarkedParts(ctx, runID, 2, 5000)
	require.NoError(t, err)
	made(t, s, l, runID, parts)
	ends := map[int64]task.State{7: task.Expired, 8: task.Cancelled, 9: task.Failed, 10: task.Superseded,
		11: task.Retrying}
	var outcomes []ledger.Outcome
	for _, p := range parts {
		o := ledger.Outcome{
			Key: task.Key{RunID: runID, AccountID: p.AccountID, Part: p.Part}, Media: "acme", TaskID: 7, Delivery: 1,
			State: task.Succeeded, Attempt: 1, ErrorText: "again", EndedAt: storetest.Moment, DueAt: storetest.Moment,
		}
		if end, otherwise := ends[p.AccountID]; otherwise {
			o.State = end
		}
		if p.AccountID != 12 {
			outcomes = append(outcomes, o)
		}
	}
	storetest.Apply(t, s, outcomes...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{RunID: runID}, runID))
	require.NoError(t, s.SettleRedrive(ctx, l, runID))
	require.NoError(t, s.SettleRedrive(ctx, l, runID), "settled already")
	left := map[int64]int{}
	for _, d := range storetest.ListDead(t, s, task.DeadFilter{TaskID: 7}) {
		require.Zero(t, d.RedriveRun)
		require.Equal(t, d.AccountID == 9, d.RunID == runID, "a run does not settle its own failures")
		left[d.AccountID]++
	}
	require.Equal(t, map[int64]int{1: 2, 2: 2, 7: 2, 8: 2, 9: 1, 11: 2, 12: 2}, left)
	require.Len(t, storetest.ListDead(t, s, task.DeadFilter{TaskID: 8}), 3)

	// An earlier leader changes nothing.
	storetest.Lead(t, s, "b")
	require.ErrorIs(t, s.SettleRedrive(ctx, l, later), lease.ErrStaleLease)
	require.ErrorIs(t, s.MarkDead(ctx, l, task.DeadFilter{}, runID), lease.ErrStaleLease)
	require.Len(t, storetest.ListDead(t, s, task.DeadFilter{}), 13+3)
}

func TestTaskPace_IsThatOfTheLargestOfTheNewestRuns(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	pace, err := s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{Calls: -1}, pace, "unknown")

	storetest.Died(t, s, 7, storetest.Moment, "a", storetest.Keys(3)...)
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{Calls: -1}, pace, "failures show no pace")

	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(10)...)
	for account := range int64(10) {
		o := r.Outcome(account+1, 1, task.Succeeded)
		o.Calls = int(account%2) + 1
		o.EndedAt = storetest.Moment.Add(5 * time.Second)
		storetest.Apply(t, s, o)
	}
	small := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	storetest.Apply(t, s, small.Outcome(1, 1, task.Succeeded))
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{PerSecond: 2, Calls: 1.5}, pace)

	require.NoError(t, s.DropLogTable(ctx, task.LogDay(r.ID)))
	pace, err = s.TaskPace(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, dead.Pace{PerSecond: 2, Calls: -1}, pace)
}

func TestDeadGroups_TakeExampleAndNameFromTheNewest(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for i, name := range []string{"the old name", "the new name"} {
		run := storetest.Died(t, s, 7, storetest.Moment.Add(time.Duration(i)*time.Hour),
			fmt.Sprintf("account %d has failed", 100+i), storetest.Keys(2)...)
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET task_name = ? WHERE id = ?", name, run).Error)
	}
	groups, _, err := s.DeadGroups(t.Context(), task.DeadFilter{}, 10)
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, "account 101 has failed", groups[0].Example)
	name, err := s.DeadTaskName(t.Context(), 7)
	require.NoError(t, err)
	require.Equal(t, "the new name", name)
}

func TestDead_MoreThanOneTransactionChanges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	keys := storetest.Keys(250 + 3)
	l := storetest.Lead(t, s, "a")
	old := storetest.Died(t, s, 7, storetest.Moment, "it failed", keys...)
	taken := storetest.NewRun(t, s, storetest.Moment.Add(time.Hour), keys...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{RunID: old}, taken.ID))
	require.Equal(t, len(keys), storetest.RowsIn(t, s, fmt.Sprintf("subtask_dead WHERE redrive_run_id = %d", taken.ID)))
	dropped, err := s.DropDead(ctx, task.DeadFilter{}, 10_000)
	require.NoError(t, err)
	require.Zero(t, dropped, "a run redrives them")

	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		outcomes[i] = taken.Outcome(k.AccountID, 1, []task.State{task.Succeeded, task.Superseded, task.Cancelled}[i%3])
	}
	storetest.Apply(t, s, outcomes...)
	require.NoError(t, s.SettleRedrive(ctx, l, taken.ID))
	free := len(keys) / 3
	require.Equal(t, free, storetest.RowsIn(t, s, "subtask_dead"), "those that were done or superseded are deleted")
	require.Zero(t, storetest.RowsIn(t, s, "subtask_dead WHERE redrive_run_id <> 0"))

	more := storetest.Died(t, s, 7, storetest.Moment.Add(2*time.Hour), "it failed", keys...)
	dropped, err = s.DropDead(ctx, task.DeadFilter{RunID: more}, 251)
	require.NoError(t, err)
	require.EqualValues(t, 251, dropped, "as many as the limit")
	dropped, err = s.DropDead(ctx, task.DeadFilter{}, 10_000)
	require.NoError(t, err)
	require.EqualValues(t, len(keys)-251+free, dropped)
}

func TestRedrives_AreAllRunsWithMarkedSubtasks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	storetest.Died(t, s, 7, storetest.Moment, "it failed", storetest.Keys(6)...)
	require.NoError(t,
		s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = account_id / 2 * 10").Error)
	if s.Data.Dialect() != sqldb.SQLiteDialect {
		require.NoError(t,
			s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = account_id DIV 2 * 10").Error)
	}
	runs, err := s.Redrives(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{10, 20, 30}, runs)
}
