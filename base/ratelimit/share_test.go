package ratelimit

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// simulation has processes ask a plan in virtual time, each for more than there is, and the platform count what arrives.
type simulation struct {
	plan   *plan
	rand   *rand.Rand
	now    int64
	events events
	limits []Key
	spread time.Duration
	asks   int
	made   []made
}

type made struct {
	at         int64 // arrival
	process    int
	importance int
}

type event struct {
	at int64
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func simulate(limits ...Key) *simulation {
	return &simulation{plan: newPlan(), rand: rand.New(rand.NewPCG(1, 2)), now: 1_000_000_000, limits: limits, spread: testSpread}
}

func (s *simulation) after(d int64, do func()) { heap.Push(&s.events, event{s.now + d, do}) }

func (s *simulation) run(length time.Duration) {
	end := s.now + length.Microseconds()
	for len(s.events) > 0 && s.events[0].at < end {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

// process begins a process that wants so many calls in each horizon, by importance, as long as it lives. It asks as desks do.
func (s *simulation) process(number int, demand map[int]int, lives func() bool) {
	var lately []int64 // when calls were granted
	var next func()
	next = func() {
		s.asks++
		trip := int64(200 + s.rand.IntN(3000))
		there := s.rand.Int64N(trip)
		s.after(there, func() {
			a := ask{process: fmt.Sprint(number)}
			var common []int
			for i, k := range s.limits {
				a.limits = append(a.limits, limitOf(k, s.spread, 1))
				common = append(common, i)
			}
			for _, importance := range []int{30, ImportanceUsual, 10} {
				if n := demand[importance]; n > 0 {
					a.wants = append(a.wants, want{importance: importance, demand: n, common: common, calls: make([]wanted, min(n, callsMax))})
				}
			}
			given := s.plan.answer(s.now, a)
			for i, g := range given {
				lately = append(lately, slices.Repeat([]int64{s.now}, len(g.starts))...)
				for _, x := range g.starts {
					s.made = append(s.made, made{s.now + x.at + s.rand.Int64N(s.spread.Microseconds()), number, a.wants[i].importance})
				}
			}
			s.after(trip-there, func() {
				if !lives() {
					return
				}
				lately = slices.DeleteFunc(lately, func(at int64) bool { return at < s.now-horizon })
				every := askEvery
				if n := len(lately); n > 0 {
					every = min(every, max(askSoonest, horizonTime*callsPerAsk/time.Duration(n)))
				}
				s.after(every.Microseconds(), next)
			})
		})
	}
	s.after(s.rand.Int64N(horizon), next)
}

func always() bool { return true }

// between are the calls that arrived in a time.
func (s *simulation) between(from, to int64) []made {
	slices.SortFunc(s.made, func(a, b made) int { return cmp.Compare(a.at, b.at) })
	i, _ := slices.BinarySearchFunc(s.made, from, func(m made, at int64) int { return cmp.Compare(m.at, at) })
	j, _ := slices.BinarySearchFunc(s.made, to, func(m made, at int64) int { return cmp.Compare(m.at, at) })
	return s.made[i:j]
}

// requireWithin fails if any window has more than a limit allows.
func (s *simulation) requireWithin(t *testing.T) {
	t.Helper()
	var at []int64
	for _, m := range s.made {
		at = append(at, m.at)
	}
	for _, k := range s.limits {
		require.LessOrEqual(t, worstWindow(at, k.Period), k.Limit, "%s", k)
	}
}

var (
	tenASecond     = Key{Media: "m", Endpoint: "10/s", Scope: ScopePlatform, Period: time.Second, Limit: 10, Share: 1}
	hundredASecond = Key{Media: "m", Endpoint: "100/s", Scope: ScopePlatform, Period: time.Second, Limit: 100, Share: 1}
	aMinute        = Key{Media: "m", Endpoint: "3000/min", Scope: ScopePlatform, Period: time.Minute, Limit: 3000, Share: 1}
)

// A limit is used to the full by any number of processes, and each has as much as the others.
func TestPlan_EveryAllowedCallIsUsed(t *testing.T) {
	t.Parallel()
	for _, limits := range [][]Key{{tenASecond}, {hundredASecond}, {aMinute}, {hundredASecond, aMinute}} {
		for _, processes := range []int{1, 3, 12} {
			t.Run(fmt.Sprintf("%s and %d others, %d processes", limits[0].Endpoint, len(limits)-1, processes), func(t *testing.T) {
				t.Parallel()
				s := simulate(limits...)
				for p := range processes {
					s.process(p, map[int]int{ImportanceUsual: 1000}, always)
				}
				s.run(10 * time.Second)
				from := s.now
				s.run(10 * time.Minute)
				s.requireWithin(t)
				calls := s.between(from, s.now)
				most := 1e18 // a second
				for _, k := range limits {
					most = min(most, float64(k.Limit)/(k.Period+s.spread).Seconds())
				}
				require.GreaterOrEqual(t, float64(len(calls)), 0.98*most*600)
				each := make([]int, processes)
				for _, m := range calls {
					each[m.process]++
				}
				require.GreaterOrEqual(t, float64(slices.Min(each)), 0.99*float64(slices.Max(each)), "%v", each)
				trips := max(0.02*float64(len(calls)), float64(processes)*610/2)
				require.LessOrEqual(t, float64(s.asks), trips+float64(processes), "for %d calls", len(calls))
			})
		}
	}
}

// Shares are by importance, whatever the number of processes, and what some do not want the others get.
func TestPlan_SharesAreMaxMinFair(t *testing.T) {
	t.Parallel()
	s := simulate(hundredASecond)
	rate := 100 / 1.1
	for p := range 6 {
		s.process(p, map[int]int{30: 1000}, always)
	}
	s.process(6, map[int]int{ImportanceUsual: 1000}, always)
	s.process(7, map[int]int{10: 1000}, always)
	s.run(20 * time.Second)
	count := func(length time.Duration) (byImportance, byProcess map[int]float64) {
		from := s.now
		s.run(length)
		byImportance, byProcess = map[int]float64{}, map[int]float64{}
		for _, m := range s.between(from, s.now) {
			byImportance[m.importance] += 1 / length.Seconds()
			byProcess[m.process] += 1 / length.Seconds()
		}
		return byImportance, byProcess
	}
	for importance, want := range map[int]float64{30: 64, ImportanceUsual: 16, 10: 4} {
		got, _ := count(10 * time.Second)
		require.InDelta(t, rate*want/84, got[importance], callsPerAsk/10., "importance %d: %v", importance, got)
	}

	s = simulate(hundredASecond)
	s.process(0, map[int]int{ImportanceUsual: 10}, always) // 5 a second
	s.process(1, map[int]int{ImportanceUsual: 60}, always)
	s.process(2, map[int]int{ImportanceUsual: 1000}, always)
	s.process(3, map[int]int{ImportanceUsual: 1000}, always)
	s.run(20 * time.Second)
	_, got := count(10 * time.Second)
	require.InDelta(t, 5, got[0], 1, "%v", got)
	for p := 1; p < 4; p++ {
		require.InDelta(t, (rate-5)/3, got[p], callsPerAsk/10., "%v", got)
	}
	s.requireWithin(t)
}

// What a process that has died was granted is lost for 2 s; then the others have its part. One that joins has its own soon.
func TestPlan_ProcessesComeAndGo(t *testing.T) {
	t.Parallel()
	s := simulate(hundredASecond)
	rate := 100 / 1.1
	alive := true
	for p := range 2 {
		s.process(p, map[int]int{ImportanceUsual: 1000}, always)
	}
	s.process(2, map[int]int{ImportanceUsual: 1000}, func() bool { return alive })
	s.run(20 * time.Second)
	alive = false
	died := s.now
	s.run(5 * time.Second)
	s.made = slices.DeleteFunc(s.made, func(m made) bool { return m.process == 2 && m.at > died })
	after := s.now
	s.run(10 * time.Second)
	require.GreaterOrEqual(t, float64(len(s.between(after, s.now))), 0.95*rate*10)
	s.process(3, map[int]int{ImportanceUsual: 1000}, always)
	s.run(5 * time.Second)
	joined := s.now
	s.run(10 * time.Second)
	calls := s.between(joined, s.now)
	require.GreaterOrEqual(t, float64(len(calls)), 0.98*rate*10)
	n := 0
	for _, m := range calls {
		if m.process == 3 {
			n++
		}
	}
	require.InDelta(t, rate*10/3, n, callsPerAsk)
	s.requireWithin(t)
}
