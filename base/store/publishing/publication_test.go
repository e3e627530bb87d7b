package publishing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// file returns a planned file of a subscription and day.
func file(subscription string, on day.Day) publishing.Publication {
	return publishing.Publication{
		ID: task.NewRunID(now), Subscription: subscription, FromDay: on, ToDay: on, Revision: 1, Sequence: 1,
		Destination: "shelf", Name: string(on) + ".csv", State: publishing.Planned, PlannedAt: now, UpdatedAt: now,
	}
}

// plan adds files, which are new.
func plan(t *testing.T, s *store.Store, files ...publishing.Publication) {
	t.Helper()
	added, err := s.PlanFiles(t.Context(), files)
	require.NoError(t, err)
	require.Equal(t, len(files), added)
}

// stored returns a file as the table has it.
func stored(t *testing.T, s *store.Store, id int64) publishing.Publication {
	t.Helper()
	p, err := s.File(t.Context(), id)
	require.NoError(t, err)
	return p
}

// claim takes a file over.
func claim(t *testing.T, s *store.Store, of publishing.Publication, delivery int64) publishing.Publication {
	t.Helper()
	p, ok, err := s.ClaimFile(t.Context(), &of, delivery, "n1", now)
	require.NoError(t, err)
	require.True(t, ok)
	return p
}

func TestPlanFiles_AddsEachFileOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, b := file("sales", "2026-11-19"), file("sales", "2026-11-20")
	a.DueAt, b.DueAt, b.Sequence = now.Add(-time.Hour), now, 2
	plan(t, s, a)
	again := file("sales", "2026-11-19")
	again.Name = "another name"
	added, err := s.PlanFiles(t.Context(), []publishing.Publication{again, b})
	require.NoError(t, err)
	require.Equal(t, 1, added)
	require.Equal(t, "2026-11-19.csv", stored(t, s, a.ID).Name)

	plan(t, s, file("other", "2026-11-19"))
	progress, err := s.FileProgress(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]publishing.Progress{"sales": {DueAt: now, Sequence: 2}, "other": {Sequence: 1}}, progress)
}

func TestOrderFiles_WritesOrdersAndRunsTogether(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, b, left := file("sales", "2026-11-18"), file("sales", "2026-11-19"), file("sales", "2026-11-20")
	waiting := file("sales", "2026-11-17")
	waiting.State = publishing.Waiting
	plan(t, s, a, b, left, waiting)
	runID := task.NewRunID(now)
	order := func(files []publishing.Publication) []ledger.RunOrder {
		require.Len(t, files, 3, "the waiting one is not ordered")
		o := ledger.RunOrder{RunID: runID, TaskID: 7, OrderedAt: now, Request: task.Order{Scope: task.ScopeAll, By: "test"}}
		for i := range files {
			if files[i].ID != left.ID {
				files[i].RunID, files[i].Lane = runID, "files"
				o.Request.Parts = append(o.Request.Parts, files[i].Part())
			}
		}
		return []ledger.RunOrder{o}
	}
	failing := errors.New("stop")
	_, err := s.OrderFiles(t.Context(), 10, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
		return order(files), failing
	})
	require.ErrorIs(t, err, failing)
	_, err = s.OrderFiles(t.Context(), 10, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
		orders := order(files)
		return append(orders, orders[0]), nil // The second insert fails.
	})
	require.Error(t, err)
	require.Zero(t, storetest.RowsIn(t, s, "manual_order"), "neither order was committed")
	require.Zero(t, stored(t, s, a.ID).RunID)

	ordered, err := s.OrderFiles(t.Context(), 10, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
		return order(files), nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, ordered)
	open, err := s.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Equal(t, []string{a.Part(), b.Part()}, open[0].Request.Parts)
	require.Equal(t, runID, stored(t, s, a.ID).RunID)
	require.Equal(t, "files", stored(t, s, b.ID).Lane)
	require.Zero(t, stored(t, s, left.ID).RunID, "the caller left it out")

	list, err := s.OrderedFiles(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
	_, err = s.OrderFiles(t.Context(), 10, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
		require.Len(t, files, 1)
		require.Equal(t, left.ID, files[0].ID)
		return nil, nil
	})
	require.NoError(t, err)
}

func TestForgetFileRun_OrdersAFileAgainInItsState(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	a.RunID = 5
	plan(t, s, a)
	p := claim(t, s, a, 10)
	p.State = publishing.Visible
	ok, err := s.StepFile(t.Context(), &p)
	require.NoError(t, err)
	require.True(t, ok)

	require.NoError(t, s.ForgetFileRun(t.Context(), a.ID, 4))
	require.EqualValues(t, 5, stored(t, s, a.ID).RunID, "another run")
	require.NoError(t, s.ForgetFileRun(t.Context(), a.ID, 5))
	seen := 0
	_, err = s.OrderFiles(t.Context(), 10, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
		seen = len(files)
		require.Equal(t, publishing.Visible, files[0].State)
		return nil, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
}

func TestClaimFile_FencesEarlierTries(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	plan(t, s, a)
	first := claim(t, s, a, 10)
	require.EqualValues(t, 10, first.Delivery)
	second := claim(t, s, a, 3)
	require.EqualValues(t, 11, second.Delivery, "it is higher than the one before, whatever the clocks show")

	first.State, first.SHA256 = publishing.Rendered, "stale"
	ok, err := s.StepFile(t.Context(), &first)
	require.NoError(t, err)
	require.False(t, ok)
	left, err := s.LeaveFile(t.Context(), &first, now)
	require.NoError(t, err)
	require.False(t, left)
	require.Equal(t, publishing.Planned, stored(t, s, a.ID).State)
	require.Empty(t, stored(t, s, a.ID).SHA256)

	second.State, second.SHA256, second.UpdatedAt = publishing.Rendered, "fresh", now.Add(time.Second)
	ok, err = s.StepFile(t.Context(), &second)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, second, stored(t, s, a.ID))

	missing := file("sales", "2026-11-01")
	_, _, err = s.ClaimFile(t.Context(), &missing, 1, "n1", now)
	require.ErrorIs(t, err, sqldb.ErrNotFound)
}

func TestStepFile_AnswersTheSameAfterALostAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	plan(t, s, a)
	p := claim(t, s, a, 10)
	p.State, p.UpdatedAt = publishing.Published, now.Add(time.Second+time.Microsecond)
	for range 2 { // The second call is the repetition of a statement whose answer was lost.
		ok, err := s.StepFile(t.Context(), &p)
		require.NoError(t, err)
		require.True(t, ok)
	}
	p.UpdatedAt = now.Add(2 * time.Second)
	ok, err := s.StepFile(t.Context(), &p)
	require.NoError(t, err)
	require.False(t, ok, "it has ended")
	other := p
	other.Delivery, other.UpdatedAt = 9, now.Add(time.Second)
	ok, err = s.StepFile(t.Context(), &other)
	require.NoError(t, err)
	require.False(t, ok, "another try's repetition")
}

func TestEndFile_EndsOnlyOpenFiles(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	a.RunID = 5
	plan(t, s, a)
	p := claim(t, s, a, 10)
	reopened, err := s.ReopenFile(t.Context(), a.ID, now)
	require.NoError(t, err)
	require.False(t, reopened, "it is open")
	for i := range 2 {
		ended, err := s.EndFile(t.Context(), a.ID, publishing.Cancelled, "an operator", now)
		require.NoError(t, err)
		require.Equal(t, i == 0, ended)
	}
	p.State = publishing.Rendered
	ok, err := s.StepFile(t.Context(), &p)
	require.NoError(t, err)
	require.False(t, ok)
	_, open, err := s.ClaimFile(t.Context(), &a, 20, "n1", now)
	require.NoError(t, err)
	require.False(t, open)

	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE publication SET revisit_at = ?, check_at = ?, token = 'x'",
		sqldb.At(now), sqldb.At(now)).Error)
	reopened, err = s.ReopenFile(t.Context(), a.ID, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, reopened)
	got := stored(t, s, a.ID)
	require.Equal(t, publishing.Planned, got.State)
	require.Zero(t, got.RunID)
	require.Empty(t, got.ErrorText+got.Token)
	require.True(t, got.CheckAt.IsZero() && got.RevisitAt.IsZero())
	require.Equal(t, now.Add(time.Minute), got.UpdatedAt)
	require.EqualValues(t, 11, claim(t, s, a, 1).Delivery)
}

func TestState_OpenAgreesWithTheStatements(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for i, state := range []publishing.State{publishing.Waiting, publishing.Planned, publishing.Rendered,
		publishing.Uploaded, publishing.Verified, publishing.Visible, publishing.Published, publishing.Failed,
		publishing.Cancelled, publishing.Superseded, publishing.Empty} {
		p := file("sales", day.Day("2026-11-01").Add(i))
		p.State = state
		plan(t, s, p)
		ended, err := s.EndFile(t.Context(), p.ID, publishing.Failed, "", now)
		require.NoError(t, err)
		require.Equal(t, state.Open(), ended, state)
	}
}

func TestSearchFiles_NarrowsDown(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, b, c := file("sales", "2026-11-18"), file("sales", "2026-11-20"), file("other", "2026-11-20")
	a.ID, b.ID, c.ID = 1, 2, 3
	c.Destination, c.State, c.Customer = "bucket", publishing.Failed, "acme"
	plan(t, s, a, b, c)
	for _, f := range []struct {
		name   string
		search publishing.Search
		want   []int64
	}{
		{"all", publishing.Search{}, []int64{3, 2, 1}},
		{"a page", publishing.Search{Before: 3}, []int64{2, 1}},
		{"a subscription", publishing.Search{Subscription: "sales"}, []int64{2, 1}},
		{"a destination", publishing.Search{Destination: "bucket"}, []int64{3}},
		{"a state", publishing.Search{State: publishing.Failed}, []int64{3}},
		{"a customer", publishing.Search{Customer: "acme"}, []int64{3}},
		{"a name", publishing.Search{Name: "2026-11-18.csv"}, []int64{1}},
		{"days", publishing.Search{From: "2026-11-19", To: "2026-11-20"}, []int64{3, 2}},
		{"days before", publishing.Search{To: "2026-11-19"}, []int64{1}},
	} {
		f.search.Limit = 10
		found, err := s.SearchFiles(t.Context(), f.search)
		require.NoError(t, err)
		var ids []int64
		for _, p := range found {
			ids = append(ids, p.ID)
		}
		require.Equal(t, f.want, ids, f.name)
	}
	rivals, err := s.FileRivals(t.Context(), &a)
	require.NoError(t, err)
	require.Empty(t, rivals)
	periods, err := s.FilesOfPeriods(t.Context(), "sales", "2026-11-18", "2026-11-19")
	require.NoError(t, err)
	require.Len(t, periods, 1)
}
