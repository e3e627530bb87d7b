package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const testSpread = 100 * time.Millisecond

// drawKey draws a limit; the ranges are small so that the schedules of a test fill windows.
func drawKey(t *rapid.T, i int, minLimit int) Key {
	return Key{
		Media: "m", Endpoint: fmt.Sprint("e", i), Scope: ScopePlatform,
		Period: rapid.SampledFrom([]time.Duration{time.Second, 1500 * time.Millisecond, 10 * time.Second, time.Minute, 5 * time.Minute}).Draw(t, "period"),
		Limit:  rapid.IntRange(minLimit, 90).Draw(t, "limit"),
		Share:  rapid.SampledFrom([]float64{0.05, 0.5, 0.8, 0.95, 1}).Draw(t, "share"),
	}
}

// step draws how long it is until something happens next: often nothing, sometimes longer than a period.
func step(t *rapid.T) int64 {
	longest := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second, time.Minute, 6 * time.Minute}).Draw(t, "longest")
	return rapid.Int64Range(0, longest.Microseconds()).Draw(t, "step")
}

func allowed(k Key) int { return max(1, int(float64(k.Limit)*k.Share+1e-9)) }

func TestGrant_NoSlidingWindowOverflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spread := rapid.SampledFrom([]time.Duration{2 * lookahead, testSpread, 2 * time.Second}).Draw(t, "spread")
		keys := make([]Key, rapid.IntRange(1, 3).Draw(t, "keys"))
		for i := range keys {
			keys[i] = drawKey(t, i, 1)
		}
		ready := make([]int64, len(keys))
		starts, arrivals := newLedger(), newLedger()
		now := int64(1_700_000_000_000_000)
		for range rapid.IntRange(1, 60).Draw(t, "asks") {
			now += step(t)
			// Each ask is under some of the keys, as accounts of an app and apps of a platform are.
			var under []int
			for i := range keys {
				if rapid.Bool().Draw(t, "under") {
					under = append(under, i)
				}
			}
			if len(under) == 0 {
				under = []int{0}
			}
			some, paces := make([]int64, len(under)), make([]pace, len(under))
			for j, i := range under {
				some[j], paces[j] = ready[i], paceOf(keys[i], spread, 1)
			}
			delays, _, _ := grant(now, some, paces, rapid.IntRange(1, 50).Draw(t, "n"))
			for j, i := range under {
				ready[i] = some[j]
			}
			for _, d := range delays {
				late := rapid.Int64Range(0, spread.Microseconds()).Draw(t, "late")
				for _, i := range under {
					starts.note(keys[i], now+d)
					arrivals.note(keys[i], now+d+late)
				}
			}
		}
		for _, k := range keys {
			if got := starts.worst(k); got > allowed(k) {
				t.Fatalf("%s share %v: %d calls started within a period, %d are allowed", k, k.Share, got, allowed(k))
			}
			if got := arrivals.worst(k); got > k.Limit {
				t.Fatalf("%s: %d calls arrived within a period", k, got)
			}
		}
	})
}

func TestGrant_TheShareCoversOneLossOfTheLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := drawKey(t, 0, 2)
		key.Share = ShareDefault
		p := paceOf(key, testSpread, 1)
		ready := []int64{0}
		starts := newLedger()
		now := int64(0)
		asks := rapid.IntRange(2, 60).Draw(t, "asks")
		lost := rapid.IntRange(1, asks).Draw(t, "lost at")
		for i := range asks {
			now += step(t)
			if i == lost {
				ready[0] = 0
			}
			delays, _, _ := grant(now, ready, []pace{p}, rapid.IntRange(1, 90).Draw(t, "n"))
			for _, d := range delays {
				starts.note(key, now+d)
			}
		}
		if got := starts.worst(key); got > key.Limit {
			t.Fatalf("%s: %d calls started within a period in which all was forgotten once", key, got)
		}
	})
}

func TestGrant_MembersTogetherKeepTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(1, 8).Draw(t, "members")
		key := drawKey(t, 0, members)
		p := paceOf(key, testSpread, members)
		ready := make([]int64, members)
		starts, arrivals := newLedger(), newLedger()
		now := int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "asks") {
			now += step(t)
			m := rapid.IntRange(0, members-1).Draw(t, "member")
			delays, _, _ := grant(now, ready[m:m+1], []pace{p}, rapid.IntRange(1, 20).Draw(t, "n"))
			for _, d := range delays {
				starts.note(key, now+d)
				arrivals.note(key, now+d+rapid.Int64Range(0, testSpread.Microseconds()).Draw(t, "late"))
			}
		}
		if got, most := starts.worst(key), max(members, allowed(key)); got > most {
			t.Fatalf("%s of %d members: %d calls started within a period, %d are allowed", key, members, got, most)
		}
		if got := arrivals.worst(key); got > key.Limit {
			t.Fatalf("%s of %d members: %d calls arrived within a period", key, members, got)
		}
	})
}

func TestPaceOf_SteadyRateAndBurst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		limit     int
		period    time.Duration
		share     float64
		members   int
		every     time.Duration
		burst     int64
		perPeriod float64 // calls per period in the long run
	}{
		{"the share decides a long second", 20, 10 * time.Second, 0.95, 1, 526316 * time.Microsecond, 1, 19},
		{"the spread of arrivals decides a second", 100, time.Second, 0.95, 1, 11 * time.Millisecond, 1, 90.9},
		{"a low rate leaves out the rounding", 10, time.Second, 0.95, 1, 111112 * time.Microsecond, 1, 9},
		{"a minute gives up its burst", 3000, time.Minute, 0.95, 1, 22149 * time.Microsecond, 142, 2709},
		{"a day's burst serves a morning", 10000, 24 * time.Hour, 0.95, 1, 9572347 * time.Microsecond, 475, 9026},
		{"one a day stays one a day", 1, 24 * time.Hour, 0.95, 1, 24*time.Hour + testSpread, 1, 1},
		{"a member of four has a quarter", 100, time.Second, 0.95, 4, 44 * time.Millisecond, 1, 22.7},
		{"more members than calls share the mean", 2, time.Second, 0.95, 4, 2200 * time.Millisecond, 1, 0.454},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := paceOf(Key{Period: tt.period, Limit: tt.limit, Share: tt.share}, testSpread, tt.members)
			require.Equal(t, tt.every, microseconds(p.every))
			require.Equal(t, tt.burst, 1+p.tolerance/p.every)
			require.InEpsilon(t, tt.perPeriod, float64(tt.period.Microseconds())/float64(p.every), 0.01)
		})
	}
}

func TestGrant_UnderConstantDemandNoSlotPassesUnused(t *testing.T) {
	t.Parallel()
	p := paceOf(Key{Period: time.Second, Limit: 20, Share: 0.95}, testSpread, 1)
	ready := []int64{0}
	now, granted := int64(0), 0
	for now < time.Minute.Microseconds() {
		delays, retry, _ := grant(now, ready, []pace{p}, 1)
		granted += len(delays)
		now += retry + 20_000 // Each ask comes 20 ms after the moment it was told.
	}
	require.GreaterOrEqual(t, granted, int(time.Minute.Microseconds()/p.every), "waking late by less than the lookahead costs nothing")
}

func TestGrant_ARaisedLimitHoldsAtOnce(t *testing.T) {
	t.Parallel()
	slow := paceOf(Key{Period: PeriodMax, Limit: 1, Share: 1}, testSpread, 1)
	fast := paceOf(Key{Period: time.Second, Limit: 100, Share: 1}, testSpread, 1)
	ready := []int64{0}
	delays, _, _ := grant(5, ready, []pace{slow}, 2)
	require.Equal(t, []int64{0}, delays)
	_, retry, by := grant(6, ready, []pace{fast}, 1)
	require.LessOrEqual(t, retry, fast.every, "a day's wait of the old limit must not outlive it")
	require.Zero(t, by)
}

func TestGrant_AllKeysOrNone(t *testing.T) {
	t.Parallel()
	app := paceOf(Key{Period: time.Second, Limit: 10, Share: 1}, testSpread, 1)
	ready := []int64{0, 90_000_000} // The second key is a pause.
	delays, retry, by := grant(30_000_000, ready, []pace{app, {}}, 3)
	require.Empty(t, delays)
	require.Equal(t, 1, by)
	require.Equal(t, int64(60_000_000)-lookahead.Microseconds(), retry)
	require.Equal(t, []int64{0, 90_000_000}, ready, "a refused call leaves the limits that had room as they were")
}
