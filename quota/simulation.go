package quota

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
)

// Simulation plays any number of processes that share limits in virtual time, with the real code. Only Redis, which
// decides as its script does (see grant.Plan), the network and the callers are simulated. The same seed gives the
// same calls. It is for one goroutine.
type Simulation struct {
	rules   *grant.Rules
	spread  time.Duration
	members int
	timeout time.Duration // how long processes wait for Redis
	rand    *rand.Rand

	start, now time.Time
	events     events
	processes  []*simulated
	master     *simulatedRedis   // the one that processes connect to
	witness    ratelimit.Witness // nil for processes without one
	away       bool
	silent     bool
	unanswered []func() // requests during the silence
	requests   int
	calls      []Arrival
	longest    time.Duration // from a call's sending to its arrival
}

// Arrival is a call that arrived at the platform.
type Arrival struct {
	At         time.Duration // from the simulation's start on
	Process    int           // the number that Join returned
	Importance int
	App        string
	Account    string
}

// Demand is what a process of a simulation wants.
type Demand struct {
	Call       grant.Call
	Importance int
	PerSecond  float64
	// Most is how many calls may wait. A further one is not started, as in a full pool.
	Most int
	// Accounts are those that calls are for, each equally often. Without any, the calls are for that of Call.
	Accounts []string
}

// NewSimulation returns a simulation without a process. Rules may be changed while it is played. members and spread
// are those of Config.
func NewSimulation(seed uint64, rules *grant.Rules, spread time.Duration, members int) *Simulation {
	start := time.Unix(1_000_000_000, 0)
	s := &Simulation{rules: rules, spread: spread, members: members, timeout: time.Second,
		rand: rand.New(rand.NewPCG(seed, 1)), start: start, now: start}
	s.Flush()
	return s
}

// Join starts a process, and returns its number.
func (s *Simulation) Join(demands ...Demand) int {
	p := &simulated{s: s, number: len(s.processes), wrong: s.upTo(wrongMost)}
	cfg := ratelimit.Config{ArrivalSpread: s.spread, Members: s.members, RedisTimeout: s.timeout}
	p.steps = ratelimit.NewSteps(cfg, demands[0].Call.Media, strconv.Itoa(p.number), p.clock, s.witness, s.rules)
	p.redis = s.master
	s.processes = append(s.processes, p)
	if s.away {
		s.loses(p)
	}
	s.after(s.upTo(ratelimit.WitnessEvery), p.keepAlive)
	if s.witness != nil {
		s.after(s.upTo(ratelimit.WitnessEvery), p.syncWitness)
	}
	for _, d := range demands {
		waiting := new(int)
		s.after(s.upTo(time.Duration(float64(time.Second)/d.PerSecond)), func() { p.want(d, waiting) })
	}
	return p.number
}

// Kill ends a process at once: unsent grants are lost.
func (s *Simulation) Kill(process int) { s.processes[process].dead = true }

// LoseRedis makes Redis refuse connections until ReturnRedis. All listeners notice it.
func (s *Simulation) LoseRedis() {
	s.away = true
	for _, p := range s.processes {
		s.loses(p)
	}
}

// loses makes a listening process notice that Redis is away.
func (s *Simulation) loses(p *simulated) {
	s.after(s.upTo(2*time.Millisecond), func() { p.steps.Lost(context.Background(), errAway) })
}

// SilenceRedis makes Redis stand still until ReturnRedis. Some requests in between are lost, others are executed
// then, whether they are still wanted or not. Only processes that send requests notice.
func (s *Simulation) SilenceRedis() { s.silent = true }

// ReturnRedis ends LoseRedis or SilenceRedis. Redis still has its data.
func (s *Simulation) ReturnRedis() {
	s.away, s.silent = false, false
	for _, do := range s.unanswered {
		s.after(0, do)
	}
	s.unanswered = nil
}

// Flush makes Redis lose all keys.
func (s *Simulation) Flush() {
	s.master = &simulatedRedis{id: "0", owner: "0", plan: grant.NewPlan(s.spread), empty: true}
	for _, p := range s.processes {
		p.redis = s.master
	}
}

// Promote replaces Redis by another server with a copy of all keys. Both accept requests during overlap. Each process
// changes from one to the other at its own time.
func (s *Simulation) Promote(overlap time.Duration) {
	old := s.master
	s.master = &simulatedRedis{id: old.id + "'", owner: old.owner, plan: old.plan.Clone(), empty: old.empty}
	for _, p := range s.processes {
		s.after(s.upTo(overlap), func() { p.redis = s.master })
	}
	s.after(overlap, func() { old.readOnly = true })
}

// simulatedRedis is a server.
type simulatedRedis struct {
	id       string
	owner    string // the id of the server that last granted what plan has
	plan     *grant.Plan
	empty    bool // it has no data
	readOnly bool
}

// Run lets time pass.
func (s *Simulation) Run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.events) > 0 && s.events[0].at.Before(end) {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

// Now returns how long it has been played.
func (s *Simulation) Now() time.Duration { return s.now.Sub(s.start) }

// RoundTrips returns the number of requests to Redis.
func (s *Simulation) RoundTrips() int { return s.requests }

// Spread returns the largest difference between calls in the time from their sending to their arrival.
func (s *Simulation) Spread() time.Duration { return s.longest }

// Calls returns the calls that have arrived, in the order of their arrival. The caller owns the slice.
func (s *Simulation) Calls() []Arrival {
	calls := slices.Clone(s.calls)
	slices.SortStableFunc(calls, func(a, b Arrival) int { return int(a.At - b.At) })
	return calls
}

// wrongMost is how far a process's clock may be off.
const wrongMost = time.Hour

func (p *simulated) clock() time.Time { return p.s.now.Add(p.wrong) }

func (s *Simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(int64(d) + 1))
}

func (s *Simulation) after(d time.Duration, do func()) {
	heap.Push(&s.events, event{s.now.Add(max(0, d)), do})
}

// simulated is a process.
type simulated struct {
	s          *Simulation
	number     int
	wrong      time.Duration // how far its clock is ahead
	steps      *ratelimit.Steps
	redis      *simulatedRedis // the one that it is connected to
	dead       bool
	requesting bool      // a request is under way
	next       time.Time // when it checks for the next request
	open       []*waitingCall
}

// waitingCall is a call that waits for its grant.
type waitingCall struct {
	place      ratelimit.Place
	call       grant.Call
	importance int
	waiting    *int // calls of its demand
}

// want starts a call, and the next one later.
func (p *simulated) want(d Demand, waiting *int) {
	if p.dead {
		return
	}
	p.s.after(time.Duration(p.s.rand.ExpFloat64()/d.PerSecond*float64(time.Second)), func() { p.want(d, waiting) })
	if d.Most > 0 && *waiting >= d.Most {
		return
	}
	c := d.Call
	if len(d.Accounts) > 0 {
		c.Account = d.Accounts[p.s.rand.IntN(len(d.Accounts))]
	}
	p.join(&waitingCall{importance: d.Importance, waiting: waiting}, c)
}

func (p *simulated) join(t *waitingCall, c grant.Call) {
	*t.waiting++
	t.call, t.place = c, p.steps.Join(c, t.importance)
	p.open = append(p.open, t)
	p.collect()
	p.schedule()
}

// schedule sends a request as soon as one is due.
func (p *simulated) schedule() {
	if p.dead || p.requesting {
		return
	}
	at, ok := p.steps.RequestAt()
	switch {
	case !ok:
	case !at.After(p.clock()):
		p.request()
	case p.next.IsZero() || at.Before(p.next):
		p.next = at
		p.s.after(at.Sub(p.clock()), func() {
			if p.next.Equal(at) {
				p.next = time.Time{}
				p.schedule()
			}
		})
	}
}

var (
	errAway     = errors.New("connection refused")
	errReadOnly = errors.New("a replica takes no writes")
)

// reach sends Redis a request, and calls answered or failed: after its answer, its refusal, or a timeout.
func (p *simulated) reach(do func(), answered func(), failed func(error)) {
	over := false
	once := func(end func()) {
		if !over && !p.dead {
			over = true
			end()
		}
	}
	p.s.requests++
	p.s.after(p.s.timeout, func() { once(func() { failed(context.DeadlineExceeded) }) })
	arrive := func() {
		if p.s.away {
			once(func() { failed(errAway) })
			return
		}
		if p.redis.readOnly {
			p.redis = p.s.master // Its next connection is to the new one.
			once(func() { failed(errReadOnly) })
			return
		}
		do()
		p.s.after(p.s.upTo(2*time.Millisecond), func() { once(answered) })
	}
	p.s.after(p.s.upTo(2*time.Millisecond), func() {
		switch {
		case !p.s.silent:
			arrive()
		case p.s.rand.IntN(2) == 0: // Otherwise it is lost.
			p.s.unanswered = append(p.s.unanswered, arrive)
		}
	})
}

// keepAlive does the periodic work of ratelimit.Waiter.Listen.
func (p *simulated) keepAlive() {
	if !p.dead {
		p.steps.KeepAlive()
		p.schedule()
		p.s.after(ratelimit.WitnessEvery, p.keepAlive)
	}
}

// syncWitness does the periodic work of a process with a witness.
func (p *simulated) syncWitness() {
	if !p.dead {
		p.steps.SyncWitness(context.Background())
		p.s.after(ratelimit.WitnessEvery, p.syncWitness)
	}
}

// request sends a request for the waiting calls.
func (p *simulated) request() {
	p.requesting = true
	ctx, sent := context.Background(), p.clock()
	x, common, ok := p.steps.Request()
	end := func() {
		p.requesting = false
		p.collect()
		p.schedule()
	}
	if !ok {
		x.Alone(ctx)
		end()
		return
	}
	var got grant.Answer
	p.reach(func() {
		got = grant.Answer{Asked: sent, Clock: p.s.now, Horizon: grant.Horizon, Wants: p.redis.decide(p.s.now, common),
			Server: p.redis.id}
	}, func() {
		got.Answered = p.clock()
		x.Answered(ctx, got)
		end()
	}, func(err error) {
		x.Failed(ctx, err)
		end()
	})
}

// decide answers a request as a server does.
func (r *simulatedRedis) decide(at time.Time, a grant.Request) []grant.Given {
	now := at.UnixMicro()
	if r.empty {
		r.plan.HoldUntil(now + grant.Horizon.Microseconds())
		r.empty = false
	}
	if r.owner != r.id {
		r.plan.HoldUntil(now + grant.LongQuiet.Microseconds())
		r.owner = r.id
	}
	return r.plan.Decide(now, a)
}

// collect sends the calls that no longer wait, each at its time.
func (p *simulated) collect() {
	p.open = slices.DeleteFunc(p.open, func(t *waitingCall) bool {
		if t.place.Waits() {
			return false
		}
		*t.waiting--
		from, until, err := t.place.Slot()
		if err != nil {
			return true
		}
		p.s.after(from.Sub(p.clock())+p.s.upTo(p.s.spread/20), func() {
			switch {
			case p.dead:
			case p.clock().After(until):
				p.join(t, t.call)
			default:
				// It is on its way for at most what the spread leaves.
				way := p.s.upTo(until.Sub(p.clock()))
				p.s.longest = max(p.s.longest, way)
				p.s.calls = append(p.s.calls, Arrival{
					At: p.s.Now() + way, Process: p.number, Importance: t.importance, App: t.call.App, Account: t.call.Account,
				})
			}
		})
		return true
	})
}

type event struct {
	at time.Time
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
