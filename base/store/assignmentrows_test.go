package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestRecordStarts_CountsThoseThatDidNotEndInOrder(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	n := 0
	start := func(committed int64) []store.Assignment {
		n++
		careful, err := s.RecordStarts(t.Context(), "g", fmt.Sprint("holder ", n), 3, []store.Start{
			{Topic: "jobs", Partition: 2, Committed: committed, Reach: committed + 100},
			{Topic: "jobs", Partition: 10, Committed: int64(n), Reach: int64(n) + 100}, // gets on each time
		})
		require.NoError(t, err)
		return careful
	}
	stop := func(holder int, cutOff bool) {
		require.NoError(t, s.RecordStops(t.Context(), "g", fmt.Sprint("holder ", holder), []store.Stop{
			{Topic: "jobs", Partition: 10}, {Topic: "jobs", Partition: 2, CutOff: cutOff},
		}))
	}
	suspect := func(offset int64) int {
		starts, err := s.RecordSuspect(t.Context(), "g", fmt.Sprint("holder ", n), "jobs", 2, offset)
		require.NoError(t, err)
		return starts
	}
	require.Empty(t, start(40))
	require.Empty(t, start(40))
	stop(1, false) // It lives, but its partitions have gone to another.
	require.Empty(t, start(40))
	stop(3, false)
	require.Empty(t, start(40), "one of the three ended in order")
	careful := start(40)
	require.Equal(t, []store.Assignment{{Topic: "jobs", Partition: 2, Committed: 40, Starts: 4, CarefulUntil: 140, SuspectOffset: -1}}, careful)

	require.Equal(t, 1, suspect(40))
	require.Equal(t, 1, suspect(41), "another message is another suspect")
	careful = start(41)
	require.Len(t, careful, 1)
	require.Equal(t, 2, suspect(41), "it was started before and never finished")
	stop(n, true)
	require.Len(t, start(41), 1)
	require.Equal(t, 2, suspect(41), "that it was cut off says nothing about it")
	require.Len(t, start(41), 1)
	require.Equal(t, 3, suspect(41))
	require.Empty(t, start(140), "all that was read by those that died is passed")

	starts, err := s.RecordSuspect(t.Context(), "g", "holder 1", "jobs", 2, 140)
	require.NoError(t, err)
	require.Zero(t, starts, "one that lost its partition notes nothing")
}

func TestRecordStarts_ManyMembersAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var members sync.WaitGroup
	for m := range 6 {
		members.Go(func() {
			for range 5 {
				var starts []store.Start
				var stops []store.Stop
				for p := range 50 {
					starts = append(starts, store.Start{Topic: "jobs", Partition: 6*p + m, Committed: 7, Reach: 107})
					stops = append(stops, store.Stop{Topic: "jobs", Partition: 6*p + m})
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
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) AS `rows`, SUM(starts) AS starts FROM assignment").Scan(&sum).Error)
	require.Equal(t, struct{ Rows, Starts int }{300, 0}, sum)
	careful, err := s.RecordStarts(t.Context(), "g", "nobody", 3, nil)
	require.NoError(t, err)
	require.Empty(t, careful)
	require.NoError(t, s.RecordStops(t.Context(), "g", "nobody", nil))
}
