package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindow_CountsTheCallsOfItsPeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		w := newWindow(Rule{Seconds: 1}, size)
		var now time.Duration
		var calls []time.Duration
		for range rapid.IntRange(0, 30).Draw(t, "calls") {
			now += time.Duration(rapid.IntRange(0, 5).Draw(t, "hundreds of milliseconds")) * 100 * time.Millisecond
			if rapid.Bool().Draw(t, "a call") {
				w.record(now)
				calls = append(calls, now)
			}
			want := 0
			for _, at := range calls[max(0, len(calls)-size):] {
				if at+time.Second > now {
					want++
				}
			}
			require.Equal(t, want, w.used(now))
		}
	})
}
