package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// played returns calls by second around a loss at second 100: so many a second, but for those given.
func played(each int64, but map[int64]int64) map[int64]int64 {
	calls := map[int64]int64{}
	for s := int64(60); s < 160; s++ {
		calls[s] = each
	}
	for s, n := range but {
		calls[s] = n
	}
	return calls
}

func between(from, to, n int64) map[int64]int64 {
	calls := map[int64]int64{}
	for s := from; s < to; s++ {
		calls[s] = n
	}
	return calls
}

func TestBackAfter_IsWhenTheRateIsAsBefore(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	for _, tt := range []struct {
		name  string
		calls map[int64]int64
		after time.Duration
		ok    bool
	}{
		{"nothing stopped", played(10, nil), 0, true},
		{"a stop of five seconds", played(10, between(102, 107, 0)), 7 * time.Second, true},
		{"a rate that stays lower", played(10, between(102, 160, 8)), 21 * time.Second, false},
		{"calls that never come back", played(10, between(102, 160, 0)), 21 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, ok := backAfter(tt.calls, at)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.after, after)
		})
	}
}

func TestLeastShare_IsOfTheRateBefore(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	require.InDelta(t, 1, leastShare(played(10, nil), at), 0.001)
	require.InDelta(t, 0.5, leastShare(played(10, between(105, 108, 0)), at), 0.001)
	require.Zero(t, leastShare(played(10, between(105, 115, 0)), at))
}
