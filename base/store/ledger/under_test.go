package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// under returns an order under account 1 of a run.
func under(r storetest.Run, name string, at time.Time) ledger.RunOrder {
	return ledger.RunOrder{RunID: task.NewRunID(at), TaskID: 7, OrderedAt: at, Request: task.Order{
		Scope: task.ScopeAll, By: "worker", Under: &task.Under{Key: task.Key{RunID: r.ID, AccountID: 1, Part: "d"},
			Name: name}}}
}

// made makes the run of an order, as the leader does.
func made(t *testing.T, s *store.Store, runID int64) storetest.Run {
	t.Helper()
	open, err := s.OpenOrders(t.Context(), 10_000)
	require.NoError(t, err)
	run := storetest.NewRun(t, s, task.RunTime(runID), task.Key{AccountID: 1, Part: "d"})
	for _, o := range open {
		if o.RunID != runID {
			continue
		}
		settings, err := json.Marshal(task.Settings{Order: &o.Request})
		require.NoError(t, err)
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET settings = ? WHERE id = ?", string(settings),
			run.ID).Error)
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE manual_order SET taken = 1, run_id = ? WHERE run_id = ?",
			run.ID, runID).Error)
		return run
	}
	require.Fail(t, "there is no such order")
	return run
}

func TestOrderUnder_IsWrittenOnceForAName(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	at := storetest.Moment
	r := storetest.NewRun(t, s, at, storetest.Keys(2)...)
	first := under(r, "sales", at)
	first.Request.Params = json.RawMessage(`{"cube":"sales"}`)
	id, err := s.OrderUnder(t.Context(), first)
	require.NoError(t, err)
	require.Equal(t, first.RunID, id)

	open, err := s.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	first.Request.Ancestors = []int64{r.ID}
	require.Equal(t, []ledger.RunOrder{first}, open)

	again := first
	again.RunID, again.Request.By = task.NewRunID(at), "the same worker with another token"
	id, err = s.OrderUnder(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, first.RunID, id)
	again.Request.Params = json.RawMessage(`{"cube":"stock"}`)
	_, err = s.OrderUnder(t.Context(), again)
	require.ErrorIs(t, err, ledger.ErrOtherOrder)
	other := under(r, "stock", at)
	id, err = s.OrderUnder(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, other.RunID, id)
	for range 2 { // Without a name each is a new one.
		nameless := under(r, "", at)
		id, err = s.OrderUnder(t.Context(), nameless)
		require.NoError(t, err)
		require.Equal(t, nameless.RunID, id)
	}
	require.Equal(t, 4, storetest.RowsIn(t, s, "manual_order"))

	storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded))
	id, err = s.OrderUnder(t.Context(), first)
	require.NoError(t, err, "an answer that was lost is repeated after the end too")
	require.Equal(t, first.RunID, id)
	_, err = s.OrderUnder(t.Context(), under(r, "late", at))
	require.ErrorIs(t, err, ledger.ErrOriginEnded)
	_, err = s.OrderUnder(t.Context(), under(storetest.Run{ID: 5}, "nobody", at))
	require.ErrorIs(t, err, ledger.ErrOriginEnded, "not even the day's table")
}

func TestOrderUnder_OneOfSeveralAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	var all sync.Map
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			id, err := s.OrderUnder(t.Context(), under(r, "sales", storetest.Moment))
			all.Store(fmt.Sprint(id, err), true)
		})
	}
	wait.Wait()
	n := 0
	all.Range(func(got, _ any) bool { n++; require.Contains(t, got, "<nil>"); return true })
	require.Equal(t, 1, n, "all have the same run")
	require.Equal(t, 1, storetest.RowsIn(t, s, "manual_order"))
}

func TestOrderUnder_EndsLoops(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	at := storetest.Moment
	r := storetest.NewRun(t, s, at, storetest.Keys(1)...)
	root, depth := r.ID, 0
	var limit *ledger.OrderLimitError
	for {
		id, err := s.OrderUnder(t.Context(), under(r, "next", at))
		if errors.As(err, &limit) {
			break
		}
		require.NoError(t, err)
		depth++
		require.LessOrEqual(t, depth, ledger.DepthMax)
		r = made(t, s, id)
	}
	require.Equal(t, ledger.DepthMax, depth)
	require.Equal(t, "there are 8 runs above the run, which is the limit", limit.Error())
	require.ErrorAs(t, s.AddOrder(t.Context(), under(r, "next", at)), &limit, "a handler's order too")
	require.Equal(t, depth, storetest.RowsIn(t, s, fmt.Sprintf("manual_order WHERE root_run_id = %d", root)))

	wide := storetest.NewRun(t, s, at, storetest.Keys(2)...)
	storetest.AddRows(t, s.Data, "manual_order (run_id, task_id, request, ordered_by, ordered_at, under_run_id,"+
		" under_account_id, under_part, root_run_id, ancestors)", ledger.OrdersMax-1, func(i int) []any {
		return []any{1000 + i, 7, "{}", "worker", "2026-11-21 00:00:00", wide.ID, 1, "d", wide.ID, "[]"}
	})
	_, err := s.OrderUnder(t.Context(), under(wide, "last", at))
	require.NoError(t, err)
	_, err = s.OrderUnder(t.Context(), under(wide, "one too many", at))
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "there are 1000 runs ordered by this subtask, which is the limit", limit.Error())
	neighbour := under(wide, "first", at)
	neighbour.Request.Under.AccountID = 2
	_, err = s.OrderUnder(t.Context(), neighbour)
	require.NoError(t, err)
}

func TestRunsUnder(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	at := storetest.Moment
	r := storetest.NewRun(t, s, at, storetest.Keys(1)...)
	var ids []int64
	for i := range 4 {
		o := under(r, "", at.Add(time.Duration(i)*time.Minute))
		require.NoError(t, s.AddOrder(t.Context(), o))
		ids = append(ids, o.RunID)
	}
	for i, state := range []task.RunState{task.RunSucceeded, task.RunPartial, task.RunRunning} {
		ids[i] = made(t, s, ids[i]).ID
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET state = ? WHERE id = ?", string(state),
			ids[i]).Error)
	}
	n, err := s.RunsUnder(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.RunsUnder{Runs: 4, Open: 2, Undone: 1}, n)
	n, err = s.RunsUnder(t.Context(), ids[0])
	require.NoError(t, err)
	require.Zero(t, n)

	found := func(f ledger.RunSearch) (all []int64) {
		f.Under, f.Limit = r.ID, 10
		runs, err := s.SearchRuns(t.Context(), f)
		require.NoError(t, err)
		for _, run := range runs {
			all = append(all, run.ID)
		}
		return all
	}
	require.Equal(t, []int64{ids[2], ids[1], ids[0]}, found(ledger.RunSearch{}),
		"the newest first, without the one not made")
	require.Equal(t, []int64{ids[1]}, found(ledger.RunSearch{States: []task.RunState{task.RunPartial}}))
	require.Equal(t, []int64{ids[0]}, found(ledger.RunSearch{Before: ids[1]}))
	require.Empty(t, found(ledger.RunSearch{TaskName: "none"}))
}
