package grant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestOffset_ASlowAnswerIsAsExactAsAQuickOne(t *testing.T) {
	t.Parallel()
	var o offset
	start := time.Unix(1_000_000_000, 0)
	server := start.Add(-time.Hour) // its time when it is start here
	ms := time.Millisecond
	trip := func(sent, there, received time.Duration) (from, to time.Duration) {
		f, e := o.narrow(server.Add(there), start.Add(sent), start.Add(received))
		return f.Sub(start), e.Sub(start)
	}
	from, to := trip(0, 1*ms, 2*ms)
	require.Equal(t, []time.Duration{0, 2 * ms}, []time.Duration{from, to})
	from, to = trip(time.Second, time.Second+10*ms, time.Second+700*ms)
	require.InDelta(t, time.Second+9*ms, from, float64(ms))
	require.InDelta(t, time.Second+11*ms, to, float64(ms))

	server = server.Add(20 * time.Second) // another server replaces it
	from, to = trip(2*time.Second, 2*time.Second+1*ms, 2*time.Second+2*ms)
	require.Equal(t, []time.Duration{2 * time.Second, 2*time.Second + 2*ms}, []time.Duration{from, to},
		"earlier bounds prove nothing")
}

// Whatever the delays, the server's time lies within the bounds, if clocks drift by at most driftMax.
func TestOffset_TheTimeIsAlwaysWithinTheBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o offset
		start := time.Unix(1_000_000_000, 0)
		ahead := time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "ahead"))
		now := start
		for range rapid.IntRange(1, 50).Draw(t, "trips") {
			pause := time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "pause"))
			there := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "there"))
			home := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "home"))
			now = now.Add(pause)
			ahead += time.Duration(rapid.Int64Range(-1000, 1000).Draw(t, "drift")) * pause / driftMax / 1000
			moment := now.Add(there)
			from, to := o.narrow(moment.Add(-ahead), now, moment.Add(home))
			if moment.Before(from) || moment.After(to) {
				t.Fatalf("the moment %s is not within %s to %s", moment, from, to)
			}
			now = moment.Add(home)
		}
	})
}
