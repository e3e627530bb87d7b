package grant

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// usual is the importance of calls without one.
const usual = 20

// drawKey draws a limit; the ranges are small so that the schedules of a test fill windows.
func drawKey(t *rapid.T, name string) Key {
	k := Key{
		Media: "m", Endpoint: name, Scope: ScopePlatform,
		Period: rapid.SampledFrom([]time.Duration{time.Second, 1500 * time.Millisecond, 10 * time.Second, time.Minute,
			time.Hour}).Draw(t, "period"),
		Share: rapid.SampledFrom([]float64{0.05, 0.5, 0.8, 0.95, 1}).Draw(t, "share"),
		Cost:  rapid.SampledFrom([]int{1, 1, 1, 2, 7}).Draw(t, "cost"),
	}
	k.Limit = rapid.IntRange(k.Cost, 90).Draw(t, "limit")
	if k.Period < countedFrom && rapid.IntRange(0, 5).Draw(t, "rows") == 0 {
		k.Unit, k.Cost, k.Limit = UnitRows, 1, 100*k.Limit
	}
	return k
}

// drawCost draws what a call takes of a limit.
func drawCost(t *rapid.T, k Key) int {
	if k.Unit == UnitRows {
		return 0
	}
	return rapid.IntRange(1, k.Cost).Draw(t, "takes")
}

// rowsMost returns the highest number of rows that a call matches.
func (s scene) rowsMost() int {
	most := 1000
	for _, k := range s.keys() {
		if k.Unit == UnitRows {
			most = min(most, max(1, int(float64(k.Limit)*k.Share)/rowsBurstDivisor))
		}
	}
	return most
}

// taken returns what a granted call of a want takes of its limits, as an Unused.
func (w Want) taken(call int, at int64) Unused {
	u := Unused{At: at, Limits: slices.Concat(w.Common, w.Call(call).Own), Costs: slices.Concat(w.Costs, w.OwnCosts)}
	u.Costs = u.Costs[:len(u.Limits)] // Expected calls have no limits of their own.
	for i := range u.Costs {
		u.Costs[i] = cost(u.Costs, i, w.Call(call).Rows)
	}
	return u
}

// step draws the time until the next event: often zero, sometimes longer than a period.
func step(t *rapid.T) int64 {
	longest := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second, 3 * time.Second,
		70 * time.Second}).Draw(t, "longest")
	return rapid.Int64Range(0, longest.Microseconds()).Draw(t, "step")
}

// scene is what the requests of a property test are drawn from: limits of two endpoints, one that both share, and
// those of accounts.
type scene struct {
	spread  time.Duration
	all     Key
	each    [2]Key
	account [3]Key
	own     bool
	granted []Unused // by the last request
	process string   // its own
}

func drawScene(t *rapid.T) scene {
	s := scene{
		spread: rapid.SampledFrom([]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second}).Draw(t,
			"spread"),
		all: drawKey(t, "*"),
		own: rapid.Bool().Draw(t, "accounts have limits"),
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

// drawRequest draws a process's request.
func (s scene) drawRequest(t *rapid.T) Request {
	a := Request{Process: rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "process"),
		Back: rapid.IntRange(0, 30).Draw(t, "back") == 0}
	for _, k := range s.keys() {
		a.Limits = append(a.Limits, limitOf(k, s.spread, 1))
	}
	for _, importance := range []int{30, usual, -1} {
		for n := range s.each {
			calls := rapid.SampledFrom([]int{0, 0, 1, 3, 20}).Draw(t, "calls")
			var e Expected
			if rapid.IntRange(0, 2).Draw(t, "some are expected") == 0 {
				e = Expected{
					Calls: rapid.IntRange(1, 20).Draw(t, "expected"), After: rapid.Int64Range(0, horizon).Draw(t, "after"),
					Every: rapid.Int64Range(0, horizon/10).Draw(t, "every"),
				}
			}
			if calls+e.Calls == 0 {
				continue
			}
			w := Want{Importance: importance, Group: s.each[n].Endpoint, Demand: calls + rapid.IntRange(0, 20).Draw(t, "lately"),
				Common: []int{0, 1 + n}, Expected: e}
			w.Costs = []int{drawCost(t, s.all), drawCost(t, s.each[n])}
			if s.own {
				w.OwnCosts = []int{drawCost(t, s.account[0])}
			}
			for range calls {
				c := Wanted{Rows: rapid.IntRange(1, s.rowsMost()).Draw(t, "rows")}
				if s.own {
					c.Own = []int{3 + rapid.IntRange(0, len(s.account)-1).Draw(t, "account")}
				}
				w.Rows += c.Rows
				w.Calls = append(w.Calls, c)
			}
			w.Rows /= max(1, calls)
			a.Wants = append(a.Wants, w)
		}
	}
	return a
}

// note keeps what was granted. Some of it may stay unused.
func (s *scene) note(a Request, want int, g Given, now int64) {
	s.process = a.Process
	for _, x := range g.Starts {
		s.granted = append(s.granted, a.Wants[want].taken(x.Call, now+x.At))
	}
}

// drawReports draws what a request reports about earlier grants.
func (s *scene) drawReports(t *rapid.T, a *Request) {
	for _, u := range s.granted {
		if rapid.IntRange(0, 3).Draw(t, "unused") == 0 {
			a.Unused, a.Process = append(a.Unused, u), s.process
		}
	}
	for i, l := range a.Limits {
		if l.Key.Unit == UnitRows && rapid.Bool().Draw(t, "settled") {
			a.Settled = append(a.Settled, Settled{i, rapid.IntRange(1, 200).Draw(t, "more")})
		}
	}
}

func newPlan() *Plan { return &Plan{horizon: horizon, idleMost: idleMost, usages: map[Key]*usage{}} }

func allowed(k Key) int { return max(1, k.Cost, int(float64(k.Limit)*k.Share+1e-9)) }

func TestPlan_NoSlidingWindowOverflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		p := newPlan()
		starts, came := newArrivals(), newArrivals()
		late := map[int64]int64{} // by how much, by the moment of the call
		now := int64(1_700_000_000_000_000)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now += step(t)
			a := s.drawRequest(t)
			for _, u := range s.granted {
				if u.At > now && !a.Back && rapid.IntRange(0, 3).Draw(t, "unused") == 0 {
					a.Unused = append(a.Unused, u)
					for n, l := range u.Limits {
						if a.Limits[l].bursts {
							continue
						}
						for range u.Costs[n] {
							starts.undo(a.Limits[l].Key, u.At)
							came.undo(a.Limits[l].Key, u.At+late[u.At])
						}
					}
				}
			}
			s.granted = nil
			for i, g := range p.Answer(now, a) {
				s.note(a, i, g, now)
				taken := map[int]bool{}
				for _, x := range g.Starts {
					if taken[x.Call] || x.At < 0 || x.At > horizon {
						t.Fatalf("call %d of %d starts at %d", x.Call, len(a.Wants[i].Calls), x.At)
					}
					taken[x.Call] = true
					if _, drawn := late[now+x.At]; !drawn {
						late[now+x.At] = rapid.Int64Range(0, s.spread.Microseconds()).Draw(t, "late")
					}
					u := a.Wants[i].taken(x.Call, now+x.At)
					for n, l := range u.Limits {
						for range u.Costs[n] {
							starts.note(a.Limits[l].Key, now+x.At)
							came.note(a.Limits[l].Key, now+x.At+late[now+x.At])
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

// A lowered limit also counts the running window.
func TestPlan_ALoweredLimitCountsEarlierGrants(t *testing.T) {
	t.Parallel()
	k := Key{Media: "m", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1}
	p, came := newPlan(), newArrivals()
	now := int64(1_000_000_000)
	grant := func() (n int) {
		a := Request{Process: "p", Limits: []Limit{limitOf(k, testSpread, 1)},
			Wants: []Want{{Demand: 300, Common: []int{0}, Calls: make([]Wanted, 300)}}}
		for _, x := range p.Answer(now, a)[0].Starts {
			came.note(k, now+x.At)
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
	all := came.at[k.ID()]
	late := slices.DeleteFunc(slices.Clone(all), func(at int64) bool { return at <= changed })
	require.NotEmpty(t, late)
	require.Greater(t, late[0]-changed, int64(900_000), "the last window of the old limit ends first")
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
		require.Equal(t, tt.every, Microseconds(p.Every), "%s", tt.key)
		if p.Every > 0 {
			require.Equal(t, tt.burst, 1+p.tolerance/p.Every, "%s", tt.key)
		}
	}
}
