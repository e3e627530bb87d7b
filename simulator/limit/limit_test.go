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

func TestMatch_ShutsAKindWhoseCallsMatchTooManyRows(t *testing.T) {
	t.Parallel()
	const most, period = 10, 5 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		l := New()
		var now, shut time.Duration
		l.Now = func() time.Duration { return now }
		l.Change([]Rule{{Media: "m", Endpoint: "kind", Scope: ScopeRows, Seconds: int(period.Seconds()), Limit: most}}, nil)
		type call struct {
			at   time.Duration
			rows int
		}
		var calls []call
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			now += time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second
			rows := rapid.IntRange(0, 6).Draw(t, "rows")
			calls = append(calls, call{now, rows})
			sum, first := 0, now
			for _, c := range calls {
				if c.at+period > now {
					sum, first = sum+c.rows, min(first, c.at)
				}
			}
			if sum > most {
				shut = max(shut, first+period+time.Duration(sum/most)*period)
			}
			l.Match("m", "kind", "app", rows)
			refusal, open := l.Open("m", "kind", "app")
			require.Equal(t, now >= shut, open)
			if !open {
				require.Equal(t, shut-now, refusal.RetryIn)
			}
		}
	})
}
