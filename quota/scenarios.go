package quota

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
)

// World is where a scenario is played: a simulation, or processes on a Redis.
type World interface {
	// Join starts a process, Kill ends one without warning.
	Join(demands ...Demand) (process int)
	Kill(process int)

	// LoseRedis makes Redis refuse connections until ReturnRedis, which restores it with its data. Flush empties it.
	LoseRedis()
	ReturnRedis()
	Flush()

	// Run lets time pass.
	Run(d time.Duration)
	Now() time.Duration

	// Calls returns the calls that have arrived, in the order of their arrival.
	Calls() []Arrival
	// RoundTrips returns the number of requests to Redis.
	RoundTrips() int
	// Spread returns the largest difference between calls in the time from their sending to their arrival.
	Spread() time.Duration
}

// Scenario is a sequence of events for processes that share limits.
type Scenario struct {
	Name   string
	Limits []Limit
	// Members is the number of processes that each one assumes while Redis is away.
	Members int
	// WarmUp is how long it is played before it is measured; 10 s unless it is changed.
	WarmUp time.Duration
	// Virtual marks a scenario with more processes than a machine can run.
	Virtual bool
	play    func(World, *measure)
}

const (
	// media and endpoint are what calls are to, as the limits name them.
	media, endpoint = "drill", "cheap"
	// overDemand is the demand as a multiple of what is available.
	overDemand = 3
	// mostWaiting is the maximum number of calls of a process that wait at a time.
	mostWaiting = 300
)

// Scenarios returns all scenarios. Each is measured for about length.
func Scenarios(length time.Duration) []Scenario {
	tenASecond, hundredASecond, aMinute := Limit{10, time.Second}, Limit{100, time.Second}, Limit{3000, time.Minute}
	var all []Scenario
	for _, limits := range [][]Limit{{tenASecond}, {hundredASecond}, {aMinute}, {hundredASecond, aMinute}} {
		for _, n := range []int{1, 3, 12} {
			all = append(all, steady(limits, n, length))
		}
	}
	all = append(all,
		killed(hundredASecond, length), joined(hundredASecond, length), lost(hundredASecond, length),
		flushed(hundredASecond, length),
		lanes(hundredASecond, length), hotAccount(hundredASecond, length), unequal(hundredASecond, length), many(length),
		manyLimits(length))
	for i := range all {
		all[i].WarmUp = 10 * time.Second
	}
	return all
}

// measure is the measured part of a scenario.
type measure struct {
	limits    []Limit
	warmUp    time.Duration
	processes int
	from, to  time.Duration
	trips     int
	// disturbed is when something happened, or negative.
	disturbed time.Duration
	perSecond float64 // the available calls, by the processes' calculation
	alone     bool    // only the processes' parts of the limits are available
	apps      int     // each has the limits for itself
	kind      func(Arrival) string
	shares    func(total int) map[string]float64
}

func (m *measure) begin(w World) { m.from, m.trips = w.Now(), w.RoundTrips() }

func (m *measure) end(w World) { m.to, m.trips = w.Now(), w.RoundTrips()-m.trips }

// over measures while time passes.
func (m *measure) over(w World, length time.Duration) {
	m.begin(w)
	w.Run(length)
	m.end(w)
}

// Play plays a scenario in a world whose processes use its rules (see Rules) and a spread.
func (s Scenario) Play(w World, spread time.Duration) Figures {
	m := &measure{limits: s.Limits, warmUp: s.WarmUp, disturbed: -1, perSecond: s.perSecond(spread), kind: byProcess,
		processes: s.Members, apps: 1}
	m.shares = func(total int) map[string]float64 { return equally(total, m.processes) }
	s.play(w, m)
	return m.figures(s.Name, w)
}

// Rules returns the scenario's limits as rules.
func (s Scenario) Rules() *grant.Rules {
	var rows []grant.Rule
	for _, l := range s.Limits {
		rows = append(rows, grant.Rule{Media: media, Endpoint: "*", Scope: grant.ScopeApp, Period: l.Period, Limit: l.Calls,
			Share: 1})
	}
	rules := grant.NewRules()
	if err := rules.Set(rows); err != nil {
		panic(err) // The scenarios are our own.
	}
	return rules
}

// perSecond returns how many calls are available.
func (s Scenario) perSecond(spread time.Duration) float64 {
	rate := math.Inf(1)
	for _, l := range s.Limits {
		rate = min(rate, l.perSecond(spread))
	}
	return rate
}

func (m *measure) figures(name string, w World) Figures {
	all := calls(w.Calls())
	measured := all.between(m.from, m.to)
	seconds := (m.to - m.from).Seconds()
	had := math.Inf(1) // available calls per second
	for _, l := range m.limits {
		if m.alone {
			l.Calls -= l.Calls % m.processes
		}
		had = min(had, l.perSecond(w.Spread()))
	}
	f := Figures{
		Name: name, Processes: m.processes, Calls: len(measured),
		UseRatio:             float64(len(measured)) / (had * float64(m.apps) * seconds),
		FairnessError:        all.fairnessError(m.from, m.to, m.kind, m.shares),
		RoundTripsPerCall:    float64(m.trips) / float64(max(1, len(measured))),
		RoundTripsPerProcess: float64(m.trips) / float64(m.processes) / seconds * 2,
		SpreadSeconds:        w.Spread().Seconds(),
	}
	for _, of := range all.byApp() {
		f.Refused += of.refused(m.limits)
		f.Overspent = max(f.Overspent, of.overspent(m.limits))
	}
	if m.disturbed >= 0 {
		f.ConvergenceSeconds = all.converged(m.disturbed, m.to, had).Seconds()
	}
	return f
}

// demand returns the demand of one of n processes, which together want more than is available.
func (m *measure) demand(n int) Demand {
	return Demand{
		Call:       grant.Call{Media: media, Endpoint: endpoint, App: "1"},
		Importance: ratelimit.ImportanceUsual, PerSecond: overDemand * m.perSecond / float64(n), Most: mostWaiting,
	}
}

func byProcess(c Arrival) string { return strconv.Itoa(c.Process) }

func equally(total, among int) map[string]float64 {
	shares := map[string]float64{}
	for p := range among {
		shares[strconv.Itoa(p)] = float64(total) / float64(among)
	}
	return shares
}

// steady is the normal case: some processes that want more than is available.
func steady(limits []Limit, n int, length time.Duration) Scenario {
	var names []string
	for _, l := range limits {
		names = append(names, fmt.Sprintf("%d/%s", l.Calls,
			strings.TrimSuffix(strings.TrimSuffix(l.Period.String(), "0s"), "m0s")))
	}
	name := strings.NewReplacer("/1s", "/s", "/1m", "/min").Replace(strings.Join(names, "+"))
	return Scenario{Name: fmt.Sprintf("steady %s, processes: %d", name, n), Limits: limits, Members: n,
		play: func(w World, m *measure) {
			for range n {
				w.Join(m.demand(n))
			}
			w.Run(m.warmUp)
			m.over(w, length)
		}}
}

// killed has three processes, and one of them dies.
func killed(l Limit, length time.Duration) Scenario {
	return Scenario{Name: "one of three killed", Limits: []Limit{l}, Members: 3, play: func(w World, m *measure) {
		for range 3 {
			w.Join(m.demand(1))
		}
		w.Run(m.warmUp)
		m.begin(w)
		m.disturbed = w.Now()
		w.Kill(2)
		w.Run(length)
		m.end(w)
		m.shares = func(int) map[string]float64 { return nil }
	}}
}

// joined has three processes, and a fourth joins.
func joined(l Limit, length time.Duration) Scenario {
	return Scenario{Name: "a fourth joins three", Limits: []Limit{l}, Members: 4, play: func(w World, m *measure) {
		for range 3 {
			w.Join(m.demand(1))
		}
		w.Run(m.warmUp)
		m.begin(w)
		m.disturbed = w.Now()
		w.Join(m.demand(1))
		w.Run(length)
		m.end(w)
		m.from += 10 * time.Second // until then it does not count
	}}
}

// redisAway is how long Redis is away.
const redisAway = 30 * time.Second

// lost has a Redis that is away and comes back. It measures the time without it, during which the processes' parts
// are available. Redis goes in the middle between two requests: right before one, no process has grants left, and
// right after one, all have enough until they use their parts.
func lost(l Limit, _ time.Duration) Scenario {
	return Scenario{Name: "Redis away for 30 s", Limits: []Limit{l}, Members: 3, play: func(w World, m *measure) {
		for range 3 {
			w.Join(m.demand(1))
		}
		w.Run(m.warmUp + time.Second)
		w.LoseRedis()
		m.alone = true
		m.over(w, redisAway)
		m.disturbed = m.from
		w.ReturnRedis()
		w.Run(redisAway)
	}}
}

// flushed has a Redis that loses everything in the middle of a window.
func flushed(l Limit, length time.Duration) Scenario {
	return Scenario{Name: "FLUSHALL in mid-window", Limits: []Limit{l}, Members: 3, play: func(w World, m *measure) {
		for range 3 {
			w.Join(m.demand(1))
		}
		w.Run(m.warmUp)
		m.begin(w)
		m.disturbed = w.Now()
		w.Flush()
		w.Run(length)
		m.end(w)
	}}
}

// lanes has calls of the three importances of lanes.
func lanes(l Limit, length time.Duration) Scenario {
	importances := []int{30, ratelimit.ImportanceUsual, 10}
	return Scenario{Name: "three lanes", Limits: []Limit{l}, Members: 3, play: func(w World, m *measure) {
		for range 3 {
			var all []Demand
			for _, importance := range importances {
				d := m.demand(1)
				d.Importance = importance
				all = append(all, d)
			}
			w.Join(all...)
		}
		w.Run(m.warmUp)
		m.kind = func(c Arrival) string { return strconv.Itoa(c.Importance) }
		m.shares = func(total int) map[string]float64 {
			shares := map[string]float64{}
			for i, weight := range []float64{100, 10, 1} {
				shares[strconv.Itoa(importances[i])] = float64(total) * weight / 111
			}
			return shares
		}
		m.over(w, length)
	}}
}

// Accounts is how many accounts share the one app, and so the limits, in a scenario of many accounts.
const Accounts = 8000

// hotName is the last of them.
var hotName = strconv.Itoa(Accounts - 1)

// hotAccount has many accounts, one of which wants more than all the others together: they want two thirds of what is
// available.
func hotAccount(l Limit, length time.Duration) Scenario {
	return Scenario{Name: "one hot account of 8,000", Limits: []Limit{l}, Members: 3, play: func(w World, m *measure) {
		accounts := make([]string, Accounts-1)
		for i := range accounts {
			accounts[i] = strconv.Itoa(i)
		}
		others := 2 * m.perSecond / 3
		for range 3 {
			hot, rest := m.demand(1), m.demand(3)
			hot.Accounts, hot.PerSecond = []string{hotName}, m.perSecond
			rest.Accounts, rest.PerSecond, rest.Most = accounts, others/3, 0
			w.Join(hot, rest)
		}
		w.Run(m.warmUp)
		m.kind = func(c Arrival) string {
			if c.Account == hotName {
				return "hot"
			}
			return "others"
		}
		// The others want less than their share. They get it all, and the hot one gets the rest.
		m.shares = func(int) map[string]float64 {
			return map[string]float64{"others": others * 10, "hot": (m.perSecond - others) * 10}
		}
		m.over(w, length)
	}}
}

// unequal has processes that want different amounts.
func unequal(l Limit, length time.Duration) Scenario {
	return Scenario{Name: "processes that want less, and more", Limits: []Limit{l}, Members: 4,
		play: func(w World, m *measure) {
			wants := []float64{0.05, 0.2, 2, 2} // of what is available
			for _, want := range wants {
				d := m.demand(1)
				d.PerSecond = want * m.perSecond
				w.Join(d)
			}
			w.Run(m.warmUp)
			m.shares = func(total int) map[string]float64 {
				rest := float64(total) - 0.25*m.perSecond*10
				return map[string]float64{"2": rest / 2, "3": rest / 2}
			}
			m.over(w, length)
		}}
}

// many has a thousand processes.
func many(length time.Duration) Scenario {
	const n = 1000
	return Scenario{Name: "1,000 processes", Limits: []Limit{{6000, time.Second}}, Members: n, Virtual: true,
		play: func(w World, m *measure) {
			for range n {
				d := m.demand(n)
				d.Most = 50
				w.Join(d)
			}
			w.Run(m.warmUp)
			m.over(w, min(length, 20*time.Second))
		}}
}

// manyLimits has thousands of apps, each called by two processes.
func manyLimits(length time.Duration) Scenario {
	const n = 2000
	return Scenario{Name: "2,000 processes, 2,000 limits", Limits: []Limit{{2, time.Second}}, Members: n, Virtual: true,
		play: func(w World, m *measure) {
			m.apps = n
			for p := range n {
				d, e := m.demand(2), m.demand(2)
				d.Call.App, e.Call.App = strconv.Itoa(p), strconv.Itoa((p+1)%n)
				d.Most, e.Most = 20, 20
				w.Join(d, e)
			}
			w.Run(m.warmUp)
			m.over(w, min(length, 20*time.Second))
		}}
}

// Named returns the scenarios whose names contain one of the words, or all without a word.
func Named(all []Scenario, words []string) []Scenario {
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s Scenario) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.Name, w) })
	})
}
