package publishing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestOrderRevisits_OrdersWhatIsDueAndMovesIt(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	due, early, open := file("sales", "2026-11-18"), file("sales", "2026-11-19"), file("sales", "2026-11-20")
	due.State, early.State = publishing.Published, publishing.Published
	due.RevisitAt, early.RevisitAt, open.RevisitAt = now, now.Add(time.Second), now
	due.RunID = 5
	plan(t, s, due, early, open)
	again, runID := now.Add(time.Hour), task.NewRunID(now)
	failing := errors.New("stop")
	require.ErrorIs(t, s.OrderRevisits(t.Context(), 10, now, again,
		func([]publishing.Publication) ([]ledger.RunOrder, error) { return nil, failing }), failing)
	seen := 0
	for range 2 {
		err := s.OrderRevisits(t.Context(), 10, now, again, func(files []publishing.Publication) ([]ledger.RunOrder, error) {
			seen++
			require.Len(t, files, 1)
			require.Equal(t, due.ID, files[0].ID)
			return []ledger.RunOrder{{RunID: runID, TaskID: 7, OrderedAt: now,
				Request: task.Order{Scope: task.ScopeAll, Parts: []string{files[0].Part()}, By: "test"}}}, nil
		})
		require.NoError(t, err)
	}
	require.Equal(t, 1, seen, "it is not due a second time")
	require.Equal(t, 1, storetest.RowsIn(t, s, "manual_order"))
	require.Equal(t, again, stored(t, s, due.ID).RevisitAt)
	require.EqualValues(t, 5, stored(t, s, due.ID).RunID, "it stays the run that made the file")
}

func TestFileRevisited_WritesNothingAfterANewDelivery(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	plan(t, s, a)
	p := claim(t, s, a, 10)
	p.State, p.CheckAt, p.CompareAt = publishing.Published, now.Add(time.Minute), now.Add(time.Hour)
	ok, err := s.StepFile(t.Context(), &p)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, now.Add(time.Minute), stored(t, s, a.ID).RevisitAt, "the earlier of the two")

	p.CheckAt, p.Compared = time.Time{}, "abc"
	require.NoError(t, s.FileRevisited(t.Context(), &p))
	got := stored(t, s, a.ID)
	require.Equal(t, now.Add(time.Hour), got.RevisitAt)
	require.True(t, got.CheckAt.IsZero())
	require.Equal(t, "abc", got.Compared)

	reopened, err := s.ReopenFile(t.Context(), a.ID, now)
	require.NoError(t, err)
	require.True(t, reopened)
	p.State = publishing.Failed
	require.NoError(t, s.FileRevisited(t.Context(), &p))
	require.Equal(t, publishing.Planned, stored(t, s, a.ID).State)
}

func TestFileNotified_LeavesTheRunThatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	plan(t, s, a)
	p := claim(t, s, a, 10)
	p.State, p.WebhookAt, p.CheckAt, p.CompareAt = publishing.Published, now, now, now.Add(time.Hour)
	ok, err := s.StepFile(t.Context(), &p)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, now, stored(t, s, a.ID).RevisitAt)

	p.UpdatedAt, p.WebhookAt, p.WebhookError = now, now.Add(time.Minute), strings.Repeat("x", 5000)
	require.NoError(t, s.FileNotified(t.Context(), &p, now.Add(2*time.Hour)))
	got := stored(t, s, a.ID)
	require.Equal(t, now.Add(2*time.Hour), got.RevisitAt, "the check is due and has a run")
	require.Len(t, got.WebhookError, 500)
	require.Equal(t, now.Add(time.Minute), got.WebhookAt)

	p.CheckAt = time.Time{}
	require.NoError(t, s.FileNotified(t.Context(), &p, now.Add(2*time.Hour)))
	require.Equal(t, now.Add(time.Minute), stored(t, s, a.ID).RevisitAt)
	p.WebhookAt, p.WebhookError = time.Time{}, ""
	require.NoError(t, s.FileNotified(t.Context(), &p, now.Add(2*time.Hour)))
	got = stored(t, s, a.ID)
	require.Equal(t, now.Add(time.Hour), got.RevisitAt)
	require.Empty(t, got.WebhookError)

	reopened, err := s.ReopenFile(t.Context(), a.ID, now)
	require.NoError(t, err)
	require.True(t, reopened)
	p.WebhookAt = now
	require.NoError(t, s.FileNotified(t.Context(), &p, now))
	require.True(t, stored(t, s, a.ID).WebhookAt.IsZero(), "it is delivered again")
}
