package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// changes are zones and times of changes of their clocks: by an hour, by half an hour, at midnight, and never.
var changes = []struct{ zone, at string }{
	{"Europe/Berlin", "2026-03-29T01:00:00Z"},
	{"Europe/Berlin", "2026-10-25T01:00:00Z"},
	{"America/New_York", "2026-03-08T07:00:00Z"},
	{"America/New_York", "2026-11-01T06:00:00Z"},
	{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
	{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
	{"America/Havana", "2026-03-08T05:00:00Z"},
	{"America/Havana", "2026-11-01T05:00:00Z"},
	{"Asia/Shanghai", "2026-03-29T01:00:00Z"},
}

// plain is a generated cron expression, so that the oracle need not parse one.
type plain struct {
	minutes, hours map[int]bool
	step           int // of the hours; 0 means that the hours are fixed
	expr           string
}

func drawPlain(t *rapid.T) plain {
	p := plain{minutes: map[int]bool{}, hours: map[int]bool{}}
	list := func(name string, of *rapid.Generator[int], into map[int]bool) string {
		text := ""
		for _, n := range rapid.SliceOfNDistinct(of, 1, 4, rapid.ID).Draw(t, name) {
			into[n] = true
			text += fmt.Sprint(n, ",")
		}
		return text[:len(text)-1]
	}
	// Mostly the times at which clocks change.
	minutes := list("minutes", rapid.OneOf(rapid.SampledFrom([]int{0, 1, 29, 30, 31, 59}), rapid.IntRange(0, 59)),
		p.minutes)
	hours := list("hours", rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 23)), p.hours)
	if p.step = rapid.IntRange(0, 3).Draw(t, "step"); p.step > 0 {
		hours = fmt.Sprintf("*/%d", p.step)
	}
	p.expr = minutes + " " + hours + " * * *"
	return p
}

func (p plain) holds(wall time.Time) bool {
	hour := p.hours[wall.Hour()]
	if p.step > 0 {
		hour = wall.Hour()%p.step == 0
	}
	return p.minutes[wall.Minute()] && hour
}

// moments steps through all minutes and checks for each what a wall clock has shown.
func (p plain) moments(zone *time.Location, from, through time.Time) []time.Time {
	shown := map[time.Time]bool{}
	var last time.Time
	var all []time.Time
	for m := from.Add(-24 * time.Hour); !m.After(through); m = m.Add(time.Minute) {
		wall := naive(m.In(zone))
		due := p.holds(wall)
		if p.step == 0 {
			due = due && !shown[wall] // a fixed hour that occurs twice runs the first time
			for skipped := last.Add(time.Minute); !last.IsZero() && skipped.Before(wall); skipped = skipped.Add(time.Minute) {
				due = due || p.holds(skipped) // what the clock skipped runs at the end of the gap
				shown[skipped] = true
			}
		}
		shown[wall], last = true, wall
		if due && m.After(from) {
			all = append(all, m)
		}
	}
	return all
}

// drawInterval draws some hours around a change of the clock.
func drawInterval(t *rapid.T) (zone string, from, through time.Time) {
	c := rapid.SampledFrom(changes).Draw(t, "change")
	change, err := time.Parse(time.RFC3339, c.at)
	require.NoError(t, err)
	minute := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Minute
	}
	from = change.Add(minute("from", -30*60, 3*60))
	return c.zone, from, from.Add(minute("length", 0, 48*60))
}

func between(s Schedule, from, through time.Time) []time.Time {
	var all []time.Time
	for m := s.Next(from); !m.After(through); m = s.Next(m) {
		all = append(all, m)
	}
	return all
}

// Whatever the zone does with its clock, the moments are those that the rule gives to a person who watches a wall
// clock.
func TestNext_AgainstAWallClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlain(t)
		zone, from, through := drawInterval(t)
		s, err := Parse(p.expr, zone, "daily")
		require.NoError(t, err)
		require.Equal(t, p.moments(s.zone, from, through), between(s, from, through), "%s in %s", p.expr, zone)
	})
}

// Catching up relies on this: an interval that is read in pieces has the moments of the whole, each once.
func TestNext_PiecesMakeTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone, from, through := drawInterval(t)
		expr := rapid.SampledFrom([]string{"*/7 * * * *", "~/10 * * * *", "*/20 */2 * * * *", "@every 7m", "@hourly",
			"@daily", drawPlain(t).expr}).Draw(t, "expr")
		s, err := Parse(expr, zone, "daily")
		require.NoError(t, err)
		whole := between(s, from, through)
		for i := 1; i < len(whole); i++ {
			require.True(t, whole[i].After(whole[i-1]), "moments only increase")
		}
		var pieces []time.Time
		for at := from; at.Before(through); {
			// Any millisecond is allowed, also just before and at a moment.
			next := at.Add(time.Duration(rapid.Int64Range(1, int64(through.Sub(from)/time.Millisecond)).Draw(t,
				"piece")) * time.Millisecond)
			if next.After(through) {
				next = through
			}
			pieces = append(pieces, between(s, at, next)...)
			at = next
		}
		require.Equal(t, whole, pieces, "%s in %s", expr, zone)
	})
}
