package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// logOf makes runs of tulip, an hour apart, each with three subtasks: account 1 has succeeded, account 2 is retrying,
// account 3 has failed.
func logOf(t *testing.T, s *store.Store, first time.Time, runs int) []ledger.Run {
	t.Helper()
	ctx := t.Context()
	l := storetest.Lead(t, s, "me")
	var all []ledger.Run
	for i := range runs {
		at := first.Add(time.Duration(i) * time.Hour)
		run := storetest.SomeRun(task.NewRunID(at), at)
		run.Media = "tulip"
		require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
		require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(run.ID)))
		require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID,
			[]ledger.AccountPart{{AccountID: 1, Part: "p"}, {AccountID: 2, Part: "p"}, {AccountID: 3, Part: "p"}}, at))
		outcome := func(account int64, state task.State, text string) ledger.Outcome {
			return ledger.Outcome{
				Key: task.Key{RunID: run.ID, AccountID: account, Part: "p"}, Delivery: 1, Attempt: 1, State: state, Media: "tulip",
				Lane:  "normal",
				DueAt: at.Add(time.Minute), EndedAt: at, ErrorClass: "transient", ErrorText: text, Reason: text,
			}
		}
		_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{
			outcome(1, task.Succeeded, ""), outcome(2, task.Retrying, "the 50% of it"),
			outcome(3, task.Failed, fmt.Sprintf("code %d", i)),
		})
		require.NoError(t, err)
		all = append(all, run)
	}
	return all
}

func TestRunSubtasks_PagesEachOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	run := logOf(t, s, time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), 1)[0]
	list := func(f ledger.SubtaskFilter, limit int) (accounts []int64) {
		var after ledger.AccountPart
		for {
			page, next, err := s.RunSubtasks(t.Context(), run.ID, f, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			for _, r := range page {
				require.Equal(t, run.ID, r.RunID)
				accounts = append(accounts, r.AccountID)
			}
			if next == nil {
				return accounts
			}
			after = *next
		}
	}
	for _, limit := range []int{1, 2, 3, 50} {
		require.Equal(t, []int64{1, 2, 3}, list(ledger.SubtaskFilter{}, limit))
	}
	require.Equal(t, []int64{3}, list(ledger.SubtaskFilter{State: task.Failed}, 1))
	require.Equal(t, []int64{2}, list(ledger.SubtaskFilter{Text: "50% of"}, 1))
	require.Empty(t, list(ledger.SubtaskFilter{Text: "50_ of"}, 1), "no letter is a wildcard")
	require.Empty(t, list(ledger.SubtaskFilter{State: task.Failed, Text: "50%"}, 1))

	page, _, err := s.RunSubtasks(t.Context(), run.ID, ledger.SubtaskFilter{State: task.Failed}, ledger.AccountPart{}, 1)
	require.NoError(t, err)
	require.Equal(t, "code 0", page[0].ErrorText)
	require.Equal(t, "transient", page[0].ErrorClass)

	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(run.ID)))
	require.Empty(t, list(ledger.SubtaskFilter{State: task.Failed}, 1), "a day that was dropped has none")
	require.Empty(t, list(ledger.SubtaskFilter{}, 1))
}

// A page that finds little ends before it has read all rows, and the pages together find all.
func TestLists_EndAPageAfterEnoughRows(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	s.Reach.Rows, s.Reach.Runs = 2, 3
	first := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	runs := logOf(t, s, first, 7) // into the next day
	page, next, err := s.RunSubtasks(t.Context(), runs[0].ID, ledger.SubtaskFilter{State: task.Failed},
		ledger.AccountPart{}, 5)
	require.NoError(t, err)
	require.Empty(t, page)
	require.Equal(t, &ledger.AccountPart{AccountID: 2, Part: "p"}, next)
	page, next, err = s.RunSubtasks(t.Context(), runs[0].ID, ledger.SubtaskFilter{State: task.Failed}, *next, 5)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Nil(t, next)

	account := settings.Account{ID: 3, Media: "tulip"}
	found := func(f ledger.SubtaskFilter, since, until time.Time, limit int) (hours []int, pages int) {
		var after task.Key
		for {
			page, next, err := s.AccountSubtasks(t.Context(), account, f, since, until, after, limit)
			require.NoError(t, err)
			pages++
			for _, r := range page {
				require.EqualValues(t, 3, r.AccountID)
				require.NotEmpty(t, r.TaskName)
				hours = append(hours, int(r.PlannedAt.Sub(first).Hours()))
			}
			if next == nil {
				return hours, pages
			}
			after = *next
		}
	}
	all := []int{6, 5, 4, 3, 2, 1, 0}
	hours, _ := found(ledger.SubtaskFilter{}, first, time.Time{}, 2)
	require.Equal(t, all, hours)
	hours, pages := found(ledger.SubtaskFilter{Text: "code 1"}, first, time.Time{}, 50)
	require.Equal(t, []int{1}, hours)
	require.Equal(t, 3, pages, "three runs a page")
	hours, _ = found(ledger.SubtaskFilter{}, first.Add(time.Hour), first.Add(3*time.Hour), 50)
	require.Equal(t, []int{2, 1}, hours, "the end is excluded")
	account.Media = "orchid"
	hours, _ = found(ledger.SubtaskFilter{}, first, time.Time{}, 50)
	require.Empty(t, hours, "runs of another media have none of its accounts")
	account.Media = "tulip"
	require.NoError(t, s.DropLogTable(t.Context(), "2026-11-21"))
	hours, _ = found(ledger.SubtaskFilter{}, first, time.Time{}, 50)
	require.Equal(t, []int{6, 5, 4}, hours)

	var due []int
	var after ledger.WaitingPlace
	for {
		page, next, err := s.WaitingSubtasks(t.Context(), ledger.WaitingFilter{Text: "50%"}, after, 1)
		require.NoError(t, err)
		for _, w := range page {
			require.Equal(t, "tulip", w.Media)
			due = append(due, int(w.DueAt.Sub(first).Hours()))
		}
		if next == nil {
			break
		}
		after = *next
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, due)
}

// Two states are two reads of the index, merged into one order.
func TestWaitingSubtasks_MergesTheStates(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	s.Reach.Rows, s.Reach.Runs = 2, 3
	first := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	runs := logOf(t, s, first, 9)
	db := s.Data.Writer(t.Context())
	for _, i := range []int{1, 4, 5, 6, 7} {
		require.NoError(t,
			db.Exec("UPDATE subtask_due SET state = 'deferred', lane = 'slow', waits_for = 'pause:7' WHERE run_id = ?",
				runs[i].ID).Error)
	}
	require.NoError(t, db.Exec("UPDATE subtask_due SET state = 'sent' WHERE run_id = ?", runs[8].ID).Error)
	list := func(f ledger.WaitingFilter, limit int) (hours []int) {
		var after ledger.WaitingPlace
		for {
			page, next, err := s.WaitingSubtasks(t.Context(), f, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			for _, w := range page {
				hours = append(hours, int(w.DueAt.Sub(first).Hours()))
			}
			if next == nil {
				return hours
			}
			after = *next
		}
	}
	for _, limit := range []int{1, 2, 3, 50} {
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, list(ledger.WaitingFilter{}, limit))
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, list(ledger.WaitingFilter{Media: "tulip"}, limit))
		require.Equal(t, []int{1, 4, 5, 6, 7}, list(ledger.WaitingFilter{State: task.Deferred}, limit))
		require.Equal(t, []int{1, 4, 5, 6, 7}, list(ledger.WaitingFilter{Lane: "slow"}, limit))
		require.Equal(t, []int{0, 2, 3}, list(ledger.WaitingFilter{State: task.Retrying, Text: "50%"}, limit))
		require.Empty(t, list(ledger.WaitingFilter{Media: "orchid"}, limit))
	}
}

func TestRunProgress_CountsWaitingSubtasks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	run := logOf(t, s, time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), 2)[0]
	found, retrying, deferred, err := s.RunProgress(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, run.ID, found.ID)
	require.EqualValues(t, 1, found.Succeeded)
	require.EqualValues(t, 1, found.Failed)
	require.EqualValues(t, 1, retrying)
	require.Zero(t, deferred)
	_, _, _, err = s.RunProgress(t.Context(), run.ID+1)
	require.ErrorIs(t, err, sqldb.ErrNotFound)
}
