package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWatermark_HoldsBackUntilGapCloses(t *testing.T) {
	t.Parallel()
	w := NewWatermark(100, 10)
	for _, offset := range []int64{100, 101, 102} {
		require.True(t, w.Begin(offset))
	}
	w.Done(102)
	w.Done(100)
	require.EqualValues(t, 101, w.Next(), "101 is in flight, so 102 stays uncommitted")
	w.Done(101)
	require.EqualValues(t, 103, w.Next())
}

func TestWatermark_Begin(t *testing.T) {
	t.Parallel()
	w := NewWatermark(5, 3)
	require.EqualValues(t, 5, w.Next(), "nothing is begun: reading starts here")
	require.False(t, w.Begin(4), "below the start")
	require.True(t, w.Begin(7), "5 and 6 are holes in the log")
	require.EqualValues(t, 7, w.Next(), "holes count as finished")
	require.False(t, w.Begin(7), "seen twice")
	require.True(t, w.Begin(8))
	require.True(t, w.Begin(9))
	require.True(t, w.Full())
	require.False(t, w.Begin(10), "the span is used up")
	w.Done(8)
	require.True(t, w.Full(), "8 is finished, but 7 still holds the span open")
	w.Done(7)
	require.False(t, w.Full())
	require.EqualValues(t, 9, w.Next())
	require.EqualValues(t, 10, w.Position())
}

func TestWatermark_DoneOfUnknownOffsetsChangesNothing(t *testing.T) {
	t.Parallel()
	w := NewWatermark(0, 3)
	require.True(t, w.Begin(0))
	require.True(t, w.Begin(2))
	for _, offset := range []int64{-1, 1, 3, 99} {
		w.Done(offset)
	}
	require.EqualValues(t, 0, w.Next())
	w.Done(0)
	w.Done(0)
	require.EqualValues(t, 2, w.Next())
}

// In whatever order work begins and ends, the offset to commit never passes an unfinished message, never goes back,
// and reaches the end when all is finished. At most the span is open at any time.
func TestWatermark_NeverPassesUnfinishedWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 1_000_000).Draw(t, "start")
		span := rapid.IntRange(1, 20).Draw(t, "span")
		w := NewWatermark(start, span)
		next, committed := start, start
		var open []int64
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(open) == 0 || rapid.Bool().Draw(t, "begin") {
				offset := next + int64(rapid.IntRange(0, 3).Draw(t, "hole"))
				full := w.Full()
				taken := w.Begin(offset)
				require.Equal(t, !full, taken)
				if taken {
					open = append(open, offset)
					next = offset + 1
				} else {
					require.NotEmpty(t, open, "full with nothing in flight would block forever")
				}
			} else {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				w.Done(open[i])
				open = append(open[:i], open[i+1:]...)
			}
			for _, offset := range open {
				require.LessOrEqual(t, w.Next(), offset, "passes unfinished work")
			}
			require.GreaterOrEqual(t, w.Next(), committed, "goes back")
			require.LessOrEqual(t, len(open), span)
			require.Equal(t, next, w.Position())
			committed = w.Next()
		}
		for _, offset := range open {
			w.Done(offset)
		}
		require.Equal(t, next, w.Next(), "all is finished")
		require.False(t, w.Full())
	})
}
