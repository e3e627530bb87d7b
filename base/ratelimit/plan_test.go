package ratelimit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// usual is the importance of calls that are made without one.
const usual = 20

// drawKey draws a limit; the ranges are small so that the schedules of a test fill windows.
func drawKey(t *rapid.T, name string) Key {
	k := Key{
		Media: "m", Endpoint: name, Scope: ScopePlatform,
		Period: rapid.SampledFrom([]time.Duration{time.Second, 1500 * time.Millisecond, 10 * time.Second, time.Minute, time.Hour}).Draw(t, "period"),
		Share:  rapid.SampledFrom([]float64{0.05, 0.5, 0.8, 0.95, 1}).Draw(t, "share"),
		Cost:   rapid.SampledFrom([]int{1, 1, 1, 2, 7}).Draw(t, "cost"),
	}
	k.Limit = rapid.IntRange(k.Cost, 90).Draw(t, "limit")
	if k.Period < countedFrom && rapid.IntRange(0, 5).Draw(t, "rows") == 0 {
		k.Unit, k.Cost, k.Limit = UnitRows, 1, 100*k.Limit
	}
	return k
}

// drawCost draws what calls take of a limit.
func drawCost(t *rapid.T, k Key) int {
	if k.Unit == UnitRows {
		return 0
	}
	return rapid.IntRange(1, k.Cost).Draw(t, "takes")
}

// rowsMost is how many rows a call matches at the most.
func (s scene) rowsMost() int {
	most := 1000
	for _, k := range s.keys() {
		if k.Unit == UnitRows {
			most = min(most, max(1, int(float64(k.Limit)*k.Share)/rowsBurstDivisor))
		}
	}
	return most
}

// taken is what a granted call of a want takes of its limits, as unused has it.
func (w want) taken(call int, at int64) unused {
	u := unused{at: at, limits: slices.Concat(w.common, w.call(call).own), costs: slices.Concat(w.costs, w.ownCosts)}
	u.costs = u.costs[:len(u.limits)] // Calls that are expected have no limits of their own.
	for i := range u.costs {
		u.costs[i] = cost(u.costs, i, w.call(call).rows)
	}
	return u
}

// step draws how long it is until something happens next: often nothing, sometimes longer than a period.
func step(t *rapid.T) int64 {
	longest := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second, 3 * time.Second, 70 * time.Second}).Draw(t, "longest")
	return rapid.Int64Range(0, longest.Microseconds()).Draw(t, "step")
}

// scene is what the asks of a property test are drawn from: limits of two endpoints, one that both share, and those of accounts.
type scene struct {
	spread  time.Duration
	all     Key
	each    [2]Key
	account [3]Key
	own     bool
	granted []unused // of the last ask
	process string   // its own
}

func drawScene(t *rapid.T) scene {
	s := scene{
		spread: rapid.SampledFrom([]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second}).Draw(t, "spread"),
		all:    drawKey(t, "*"),
		own:    rapid.Bool().Draw(t, "accounts have limits"),
	}
	for i := range s.each {
		s.each[i] = drawKey(t, fmt.Sprint("e", i))
	}
	one := drawKey(t, "a")
	for i := range s.account {
		one.Subject, one.Scope = fmt.Sprint(i), ScopeAccount
		s.account[i] = one
	}
	return s
}

func (s scene) keys() []Key {
	keys := append([]Key{s.all}, s.each[:]...)
	if s.own {
		keys = append(keys, s.account[:]...)
	}
	return keys
}

// drawAsk draws what a process asks.
func (s scene) drawAsk(t *rapid.T) ask {
	a := ask{process: rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "process"), back: rapid.IntRange(0, 30).Draw(t, "back") == 0}
	for _, k := range s.keys() {
		a.limits = append(a.limits, limitOf(k, s.spread, 1))
	}
	for _, importance := range []int{30, usual, -1} {
		for n := range s.each {
			calls := rapid.SampledFrom([]int{0, 0, 1, 3, 20}).Draw(t, "calls")
			var e expected
			if rapid.IntRange(0, 2).Draw(t, "some are expected") == 0 {
				e = expected{
					calls: rapid.IntRange(1, 20).Draw(t, "expected"), after: rapid.Int64Range(0, horizon).Draw(t, "after"),
					every: rapid.Int64Range(0, horizon/10).Draw(t, "every"),
				}
			}
			if calls+e.calls == 0 {
				continue
			}
			w := want{importance: importance, group: s.each[n].Endpoint, demand: calls + rapid.IntRange(0, 20).Draw(t, "lately"), common: []int{0, 1 + n}, expected: e}
			w.costs = []int{drawCost(t, s.all), drawCost(t, s.each[n])}
			if s.own {
				w.ownCosts = []int{drawCost(t, s.account[0])}
			}
			for range calls {
				c := wanted{rows: rapid.IntRange(1, s.rowsMost()).Draw(t, "rows")}
				if s.own {
					c.own = []int{3 + rapid.IntRange(0, len(s.account)-1).Draw(t, "account")}
				}
				w.rows += c.rows
				w.calls = append(w.calls, c)
			}
			w.rows /= max(1, calls)
			a.wants = append(a.wants, w)
		}
	}
	return a
}

// note keeps what was granted, of which some may not be used.
func (s *scene) note(a ask, want int, g given, now int64) {
	s.process = a.process
	for _, x := range g.starts {
		s.granted = append(s.granted, a.wants[want].taken(x.call, now+x.at))
	}
}

// drawTold draws what an ask tells of what was granted before.
func (s *scene) drawTold(t *rapid.T, a *ask) {
	for _, u := range s.granted {
		if rapid.IntRange(0, 3).Draw(t, "unused") == 0 {
			a.unused, a.process = append(a.unused, u), s.process
		}
	}
	for i, l := range a.limits {
		if l.key.Unit == UnitRows && rapid.Bool().Draw(t, "settled") {
			a.settled = append(a.settled, settled{i, rapid.IntRange(1, 200).Draw(t, "more")})
		}
	}
}

func newPlan() *plan { return &plan{horizon: horizon, unasked: unasked, books: map[Key]*book{}} }

func allowed(k Key) int { return max(1, k.Cost, int(float64(k.Limit)*k.Share+1e-9)) }

func TestPlan_NoSlidingWindowOverflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		p := newPlan()
		starts, came := newArrivals(), newArrivals()
		late := map[int64]int64{} // by how much, by the moment of the call
		now := int64(1_700_000_000_000_000)
		for range rapid.IntRange(1, 60).Draw(t, "asks") {
			now += step(t)
			a := s.drawAsk(t)
			for _, u := range s.granted {
				if u.at > now && !a.back && rapid.IntRange(0, 3).Draw(t, "unused") == 0 {
					a.unused = append(a.unused, u)
					for n, l := range u.limits {
						if a.limits[l].bursts {
							continue
						}
						for range u.costs[n] {
							starts.undo(a.limits[l].key, u.at)
							came.undo(a.limits[l].key, u.at+late[u.at])
						}
					}
				}
			}
			s.granted = nil
			for i, g := range p.answer(now, a) {
				s.note(a, i, g, now)
				taken := map[int]bool{}
				for _, x := range g.starts {
					if taken[x.call] || x.at < 0 || x.at > horizon {
						t.Fatalf("call %d of %d starts at %d", x.call, len(a.wants[i].calls), x.at)
					}
					taken[x.call] = true
					if _, drawn := late[now+x.at]; !drawn {
						late[now+x.at] = rapid.Int64Range(0, s.spread.Microseconds()).Draw(t, "late")
					}
					u := a.wants[i].taken(x.call, now+x.at)
					for n, l := range u.limits {
						for range u.costs[n] {
							starts.note(a.limits[l].key, now+x.at)
							came.note(a.limits[l].key, now+x.at+late[now+x.at])
						}
					}
				}
			}
		}
		for _, k := range s.keys() {
			if got := starts.worst(k); got > allowed(k) {
				t.Fatalf("%s share %v: %d calls started within a period, %d are allowed", k, k.Share, got, allowed(k))
			}
			if got := came.worst(k); got > k.Limit {
				t.Fatalf("%s: %d calls arrived within a period", k, got)
			}
		}
	})
}

// A limit that is lowered holds for the window that is under way too.
func TestPlan_ALoweredLimitCountsWhatWasGranted(t *testing.T) {
	t.Parallel()
	k := Key{Media: "m", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1}
	p, came := newPlan(), newArrivals()
	now := int64(1_000_000_000)
	grant := func() (n int) {
		a := ask{process: "p", limits: []limit{limitOf(k, testSpread, 1)}, wants: []want{{demand: 300, common: []int{0}, calls: make([]wanted, 300)}}}
		for _, x := range p.answer(now, a)[0].starts {
			came.note(k, now+x.at)
			n++
		}
		return n
	}
	require.Positive(t, grant())
	changed := now + horizon
	k.Limit = 5
	for range 10 {
		now += 500_000
		grant()
	}
	all := came.at[k.id()]
	late := slices.DeleteFunc(slices.Clone(all), func(at int64) bool { return at <= changed })
	require.NotEmpty(t, late)
	require.Greater(t, late[0]-changed, int64(900_000), "the last window of the old limit is over first")
	require.LessOrEqual(t, worstWindow(late, k.Period), k.Limit)
}

func TestPaceOf_SteadyRateAndBurst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key     Key
		spread  time.Duration
		members int
		every   time.Duration
		burst   int64
	}{
		{Key{Period: time.Second, Limit: 20, Share: 1}, testSpread, 1, 55 * time.Millisecond, 1},
		{Key{Period: time.Second, Limit: 100, Share: 0.5}, testSpread, 1, 20 * time.Millisecond, 1},
		{Key{Period: time.Minute, Limit: 600, Share: 1}, 0, 1, 100 * time.Millisecond, 1},
		{Key{Period: 24 * time.Hour, Limit: 10_000, Share: 1}, 0, 1, 9_093_780 * time.Microsecond, 500},
		{Key{Period: time.Second, Limit: 20, Share: 1}, 0, 4, 200 * time.Millisecond, 1},
		{Key{Period: time.Second, Limit: 2, Share: 1}, 0, 4, 2 * time.Second, 1},
		{Key{Period: time.Second, Limit: 20, Share: 1, Cost: 5}, 0, 1, 62_500 * time.Microsecond, 1},
		{Key{Period: 10 * time.Second, Limit: 40_000, Share: 1, Unit: UnitRows}, 0, 1, 334 * time.Microsecond, 10_000},
		{Key{Period: 10 * time.Second, Limit: 1, Share: 0.8}, testSpread, 1, 12_500 * time.Millisecond, 1},
		{Key{}, testSpread, 1, 0, 1},
	} {
		p := paceOf(tt.key, tt.spread, tt.members)
		require.Equal(t, tt.every, microseconds(p.every), "%s", tt.key)
		if p.every > 0 {
			require.Equal(t, tt.burst, 1+p.tolerance/p.every, "%s", tt.key)
		}
	}
}
