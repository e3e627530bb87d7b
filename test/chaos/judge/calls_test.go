package judge

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// played returns calls by second around a loss at second 100: ten per second, except for those given.
func played(but map[int64]int64) map[int64]int64 {
	calls := between(60, 160, 10)
	maps.Copy(calls, but)
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
		{"nothing stopped", played(nil), 0, true},
		{"a stop of five seconds", played(between(102, 107, 0)), 7 * time.Second, true},
		{"a rate that stays lower", played(between(102, 160, 8)), 21 * time.Second, false},
		{"calls that never come back", played(between(102, 160, 0)), 21 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, ok := BackAfter(tt.calls, at)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.after, after)
		})
	}
}

func TestLeastShare_IsOfTheRateBefore(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	require.InDelta(t, 1, LeastShare(played(nil), at), 0.001)
	require.InDelta(t, 0.5, LeastShare(played(between(105, 108, 0)), at), 0.001)
	require.Zero(t, LeastShare(played(between(105, 115, 0)), at))
}
