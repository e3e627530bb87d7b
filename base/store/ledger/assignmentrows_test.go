package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
)

func TestRecordStarts_CountsStartsWithoutAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	n := 0
	start := func(committed int64) []ledger.Assignment {
		n++
		careful, err := s.RecordStarts(t.Context(), "g", fmt.Sprint("holder ", n), 3, []ledger.Start{
			{Topic: "jobs", Partition: 2, Committed: committed, Reach: committed + 100},
			{Topic: "jobs", Partition: 10, Committed: int64(n), Reach: int64(n) + 100}, // makes progress each time
		})
		require.NoError(t, err)
		return careful
	}
	stop := func(holder int, committed, cutOff int64) {
		require.NoError(t, s.RecordStops(t.Context(), "g", fmt.Sprint("holder ", holder), []ledger.Stop{
			{Topic: "jobs", Partition: 10, Committed: int64(holder), CutOff: -1},
			{Topic: "jobs", Partition: 2, Committed: committed, CutOff: cutOff},
		}))
	}
	suspect := func(offset int64) int {
		starts, err := s.RecordSuspect(t.Context(), "g", fmt.Sprint("holder ", n), "jobs", 2, offset)
		require.NoError(t, err)
		return starts
	}
	require.Empty(t, start(40))
	require.Empty(t, start(40))
	require.Empty(t, start(40))
	stop(3, 40, -1)
	require.Empty(t, start(40), "one of the three ended in order")
	careful := start(40)
	require.Equal(t, []ledger.Assignment{{Topic: "jobs", Partition: 2, Committed: 40, Starts: 4, CarefulUntil: 140,
		SuspectOffset: -1}}, careful)

	require.Equal(t, 1, suspect(40))
	require.Equal(t, 1, suspect(41), "another message is another suspect")
	careful = start(41)
	require.Len(t, careful, 1)
	require.Equal(t, 2, suspect(41), "it was started before and never finished")
	stop(n, 41, 41)
	require.Len(t, start(41), 1)
	require.Equal(t, 2, suspect(41), "being cut off is not counted against it")
	require.Len(t, start(41), 1)
	require.Equal(t, 3, suspect(41))
	require.Empty(t, start(140), "all offsets that the dead members had read are passed")

	starts, err := s.RecordSuspect(t.Context(), "g", "holder 1", "jobs", 2, 140)
	require.NoError(t, err)
	require.Zero(t, starts, "a holder that lost its partition records nothing")
}

// An evicted member lives on, and stops in order after another has started its partitions: that is no death.
func TestRecordStops_CountsLateOnes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	start := func(holder string, committed int64) {
		t.Helper()
		_, err := s.RecordStarts(t.Context(), "g", holder, 3,
			[]ledger.Start{{Topic: "jobs", Partition: 2, Committed: committed, Reach: committed + 100}})
		require.NoError(t, err)
	}
	stop := func(holder string, committed, cutOff int64) {
		t.Helper()
		require.NoError(t, s.RecordStops(t.Context(), "g", holder,
			[]ledger.Stop{{Topic: "jobs", Partition: 2, Committed: committed, CutOff: cutOff}}))
	}
	suspect := func(holder string, offset int64) {
		t.Helper()
		_, err := s.RecordSuspect(t.Context(), "g", holder, "jobs", 2, offset)
		require.NoError(t, err)
	}
	type row struct {
		Holder        string
		Starts        int
		SuspectOffset int64
		SuspectStarts int
	}
	has := func(want row, msg string) {
		t.Helper()
		var got row
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw("SELECT holder, starts, suspect_offset, suspect_starts FROM assignment").Scan(
				&got).Error)
		require.Equal(t, want, got, msg)
	}
	start("a", -1)
	start("b", 0)
	stop("a", -1, -1)
	has(row{"b", 1, -1, 0}, "the first commit of all is no progress")
	stop("a", -1, -1)
	has(row{"b", 1, -1, 0}, "the start of the one that has it now stays")
	start("c", 40)
	stop("b", 0, -1)
	has(row{"c", 1, -1, 0}, "the start of b is forgotten: c found that it got on")

	for _, holder := range []string{"d", "e", "f"} {
		start(holder, 40)
	}
	suspect("f", 50)
	start("g", 40)
	suspect("g", 50)
	has(row{"g", 5, 50, 2}, "")
	stop("e", 40, -1)
	has(row{"g", 4, 50, 2}, "e had nothing under way with care")
	stop("f", 40, 50)
	has(row{"g", 3, 50, 1}, "f lived on, so 50 did not end it")
	start("h", 45)
	suspect("h", 50)
	stop("g", 40, 50)
	has(row{"h", 1, 50, 1}, "g got on, and 50 did not end it either")
	start("i", 45)
	suspect("i", 51)
	stop("h", 45, 50)
	has(row{"i", 1, 51, 1}, "51 was begun by i alone")
	stop("i", 45, 51)
	has(row{"", 0, 51, 0}, "")
}

func TestRecordStarts_ManyMembersAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var members sync.WaitGroup
	for m := range 6 {
		members.Go(func() {
			for range 5 {
				var starts []ledger.Start
				var stops []ledger.Stop
				for p := range 50 {
					starts = append(starts, ledger.Start{Topic: "jobs", Partition: 6*p + m, Committed: 7, Reach: 107})
					stops = append(stops, ledger.Stop{Topic: "jobs", Partition: 6*p + m, Committed: 7, CutOff: -1})
				}
				holder := fmt.Sprint("member ", m)
				if _, err := s.RecordStarts(context.WithoutCancel(t.Context()), "g", holder, 3, starts); err != nil {
					t.Error(err)
				}
				if err := s.RecordStops(context.WithoutCancel(t.Context()), "g", holder, stops); err != nil {
					t.Error(err)
				}
			}
		})
	}
	members.Wait()
	var sum struct{ Rows, Starts int }
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) AS `rows`, SUM(starts) AS starts FROM assignment").Scan(&sum).Error)
	require.Equal(t, struct{ Rows, Starts int }{300, 0}, sum)
	careful, err := s.RecordStarts(t.Context(), "g", "nobody", 3, nil)
	require.NoError(t, err)
	require.Empty(t, careful)
	require.NoError(t, s.RecordStops(t.Context(), "g", "nobody", nil))
}
