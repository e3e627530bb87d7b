package grant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/clock"
)

// An unknown number is learned: close below what the platform allows, at the cost of a refusal a day.
func TestLearn_FindsWhatThePlatformAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const days = 4
		first := rapid.IntRange(1, 100).Draw(t, "calls")
		most := rapid.IntRange(first, 2000).Draw(t, "calls_max")
		truth := rapid.IntRange(max(1, first/2), 3000).Draw(t, "truth")
		now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
		var known Learned
		var whole time.Time // until when it is tightened
		limit, refusals := first, 0
		for range days * 24 * 60 {
			now = now.Add(time.Minute)
			if float64(limit)*Tightened(whole, now) > float64(truth) {
				refusals++
				whole = clock.Later(now, whole).Add(TightenStep)
			}
			s := LimitState{
				Key: Key{Media: "m", Endpoint: "x", Scope: ScopeApp, Subject: "1", Period: time.Minute, Limit: limit,
					Share: 0.95},
				LimitMax: most, Part: Tightened(whole, now), Window: limit, Lanes: []LaneState{{Wanted: 1_000_000}},
			}
			after, changed := Learn(known, s, now)
			require.Equal(t, known != after, changed)
			if known = after; known.Limit > 0 {
				limit = known.Limit
			}
		}
		require.LessOrEqual(t, limit, most)
		if truth >= 20 {
			require.GreaterOrEqual(t, float64(limit), 0.85*float64(min(truth, most)))
			require.LessOrEqual(t, refusals, 2*days+30, "from %d, up to %d, %d are allowed", first, most, truth)
		}
	})
}

func TestLearn_TriesNoMoreThanIsWanted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	s := LimitState{Key: Key{Period: time.Second, Limit: 10, Share: 1}, LimitMax: 100, Part: 1, Window: 10,
		Lanes: []LaneState{{Wanted: 20}}}
	known, changed := Learn(Learned{}, s, now)
	require.True(t, changed)
	known, changed = Learn(known, s, now.Add(time.Hour))
	require.False(t, changed, "the limit allows twenty in two seconds")
	s.Lanes[0].Wanted, s.Window = 21, 7
	known, changed = Learn(known, s, now.Add(time.Hour))
	require.False(t, changed, "another limit holds the calls back")
	s.Window = 8
	known, changed = Learn(known, s, now.Add(time.Hour))
	require.True(t, changed)
	require.Equal(t, 11, known.Limit)
	_, changed = Learn(known, s, now.Add(time.Hour+30*time.Second))
	require.False(t, changed, "each number is tried for a minute")
	s.LimitMax = 0
	_, changed = Learn(known, s, now.Add(48*time.Hour))
	require.False(t, changed, "a known number is not tried")
}

func TestRules_ApplyLearnedNumbers(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	rule := Rule{Media: "m", Endpoint: "*", Each: true, Scope: ScopeApp, Period: time.Minute, Limit: 100, LimitMax: 300}
	require.NoError(t, rules.Set([]Rule{rule}))
	learned := Learned{Media: "m", Endpoint: "x", Scope: ScopeApp, Subject: "1", Period: time.Minute, Limit: 250}
	rules.SetLearned([]Learned{learned})
	limit := func(app string) int { return keysOf(rules, Call{Media: "m", Endpoint: "x", App: app})[0].Limit }
	require.Equal(t, []int{250, 100}, []int{limit("1"), limit("2")}, "each app has its own number")
	require.True(t, learned.Is(keysOf(rules, Call{Media: "m", Endpoint: "x", App: "1"})[0]))
	rule.LimitMax = 200
	require.NoError(t, rules.Set([]Rule{rule}))
	require.Equal(t, 200, limit("1"))
	rule.LimitMax = 0
	require.NoError(t, rules.Set([]Rule{rule}))
	require.Equal(t, 100, limit("1"), "the row has a known number")
}
