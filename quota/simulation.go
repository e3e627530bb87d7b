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

// Simulation plays processes that share limits in virtual time, as many as one likes, with the code that shares them for real: only Redis, which
// decides as its script does (see plan), the network and the callers are made up. The same seed gives the same calls. It is for one goroutine.
type Simulation struct {
	rules   *grant.Rules
	spread  time.Duration
	members int
	timeout time.Duration // how long processes wait for Redis
	rand    *rand.Rand

	start, now time.Time
	events     events
	processes  []*simulated
	master     *simulatedRedis   // that processes connect to
	witness    ratelimit.Witness // nil for processes without one
	away       bool
	silent     bool
	unanswered []func() // what it was asked while it was silent
	asks       int
	calls      []Arrival
	longest    time.Duration // from a call's sending to its arrival
}

// Arrival is a call that arrived at the platform.
type Arrival struct {
	At         time.Duration // from the simulation's start on
	Process    int           // as Join named it
	Importance int
	App        string
	Account    string
}

// Demand is what a process of a simulation wants.
type Demand struct {
	Call       grant.Call
	Importance int
	PerSecond  float64
	// Most is how many calls may wait: one that would be more is not begun, as in a pool that is full.
	Most int
	// Accounts are those that calls are for, each as often as the others; without any they are for that of Call.
	Accounts []string
}

// NewSimulation returns a simulation without a process. Rules may be changed while it is played; members and spread are those of Config.
func NewSimulation(seed uint64, rules *grant.Rules, spread time.Duration, members int) *Simulation {
	start := time.Unix(1_000_000_000, 0)
	s := &Simulation{rules: rules, spread: spread, members: members, timeout: time.Second, rand: rand.New(rand.NewPCG(seed, 1)), start: start, now: start}
	s.Flush()
	return s
}

// Join begins a process, and returns its number.
func (s *Simulation) Join(demands ...Demand) int {
	p := &simulated{s: s, number: len(s.processes), wrong: s.upTo(wrongMost)}
	cfg := ratelimit.Config{ArrivalSpread: s.spread, Members: s.members, RedisTimeout: s.timeout}
	p.steps = ratelimit.NewSteps(cfg, demands[0].Call.Media, strconv.Itoa(p.number), p.clock, s.witness, s.rules)
	p.redis = s.master
	s.processes = append(s.processes, p)
	if s.away {
		s.loses(p)
	}
	s.after(s.upTo(ratelimit.WitnessEvery), p.touch)
	if s.witness != nil {
		s.after(s.upTo(ratelimit.WitnessEvery), p.watch)
	}
	for _, d := range demands {
		waiting := new(int)
		s.after(s.upTo(time.Duration(float64(time.Second)/d.PerSecond)), func() { p.want(d, waiting) })
	}
	return p.number
}

// Kill ends a process at once: what it was granted and has not sent yet is lost.
func (s *Simulation) Kill(process int) { s.processes[process].dead = true }

// LoseRedis has Redis refuse connections until ReturnRedis. All who listen notice it.
func (s *Simulation) LoseRedis() {
	s.away = true
	for _, p := range s.processes {
		s.loses(p)
	}
}

// loses has a process notice that Redis is away, as it listens.
func (s *Simulation) loses(p *simulated) {
	s.after(s.upTo(2*time.Millisecond), func() { p.steps.Lost(context.Background(), errAway) })
}

// SilenceRedis has Redis stand still until ReturnRedis: of what it is asked meanwhile some is lost, and some it does then, whoever still wants it. Only who
// asks notices.
func (s *Simulation) SilenceRedis() { s.silent = true }

// ReturnRedis ends what LoseRedis or SilenceRedis began. Redis has what it had.
func (s *Simulation) ReturnRedis() {
	s.away, s.silent = false, false
	for _, do := range s.unanswered {
		s.after(0, do)
	}
	s.unanswered = nil
}

// Flush has Redis lose all keys.
func (s *Simulation) Flush() {
	s.master = &simulatedRedis{id: "0", owner: "0", plan: grant.NewPlan(s.spread), empty: true}
	for _, p := range s.processes {
		p.redis = s.master
	}
}

// Promote has another server take the place of Redis, with all keys as they are now. Both take what they are asked for as long as overlap; meanwhile
// each process goes from the one to the other at a moment of its own.
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
	owner    string // the id of the server that granted last what plan has
	plan     *grant.Plan
	empty    bool // it knows nothing
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

// Now is how long it has been played.
func (s *Simulation) Now() time.Duration { return s.now.Sub(s.start) }

// RoundTrips is how often Redis was asked.
func (s *Simulation) RoundTrips() int { return s.asks }

// Spread is the largest difference between calls in the time from their sending to their arrival.
func (s *Simulation) Spread() time.Duration { return s.longest }

// Calls returns the calls that have arrived, in the order of their arrival. The slice is the caller's.
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
	s      *Simulation
	number int
	wrong  time.Duration // its clock is so far ahead
	steps  *ratelimit.Steps
	redis  *simulatedRedis // that it is connected to
	dead   bool
	asking bool      // an ask is under way
	next   time.Time // when it looks whether there is something to ask
	open   []*standing
}

// standing is a call that waits for its grant.
type standing struct {
	place      ratelimit.Place
	call       grant.Call
	importance int
	waiting    *int // calls of its demand
}

// want begins a call, and the one after it later.
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
	p.stand(&standing{importance: d.Importance, waiting: waiting}, c)
}

func (p *simulated) stand(t *standing, c grant.Call) {
	*t.waiting++
	t.call, t.place = c, p.steps.Join(c, t.importance)
	p.open = append(p.open, t)
	p.collect()
	p.look()
}

// look asks as soon as it has a use.
func (p *simulated) look() {
	if p.dead || p.asking {
		return
	}
	at, ok := p.steps.RequestAt()
	switch {
	case !ok:
	case !at.After(p.clock()):
		p.ask()
	case p.next.IsZero() || at.Before(p.next):
		p.next = at
		p.s.after(at.Sub(p.clock()), func() {
			if p.next.Equal(at) {
				p.next = time.Time{}
				p.look()
			}
		})
	}
}

var (
	errAway     = errors.New("connection refused")
	errReadOnly = errors.New("a replica takes no writes")
)

// reach sends Redis something to do, and tells the process of its answer, of its refusal, or that none has come in time.
func (p *simulated) reach(do func(), answered func(), failed func(error)) {
	over := false
	once := func(end func()) {
		if !over && !p.dead {
			over = true
			end()
		}
	}
	p.s.asks++
	p.s.after(p.s.timeout, func() { once(func() { failed(context.DeadlineExceeded) }) })
	arrive := func() {
		if p.s.away {
			once(func() { failed(errAway) })
			return
		}
		if p.redis.readOnly {
			p.redis = p.s.master // Its next connection is to that one.
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
		case p.s.rand.IntN(2) == 0: // Else it is lost.
			p.s.unanswered = append(p.s.unanswered, arrive)
		}
	})
}

// touch does what ratelimit.Waiter.Listen does.
func (p *simulated) touch() {
	if !p.dead {
		p.steps.KeepAlive()
		p.look()
		p.s.after(ratelimit.WitnessEvery, p.touch)
	}
}

// watch does what a process with a witness does.
func (p *simulated) watch() {
	if !p.dead {
		p.steps.SyncWitness(context.Background())
		p.s.after(ratelimit.WitnessEvery, p.watch)
	}
}

// ask asks for those who wait.
func (p *simulated) ask() {
	p.asking = true
	ctx, asked := context.Background(), p.clock()
	x, common, ok := p.steps.Request()
	end := func() {
		p.asking = false
		p.collect()
		p.look()
	}
	if !ok {
		x.Alone(ctx)
		end()
		return
	}
	var got grant.Answer
	p.reach(func() {
		got = grant.Answer{Asked: asked, Clock: p.s.now, Horizon: grant.Horizon, Wants: p.redis.decide(p.s.now, common), Server: p.redis.id}
	}, func() {
		got.Answered = p.clock()
		x.Answered(ctx, got)
		end()
	}, func(err error) {
		x.Failed(ctx, err)
		end()
	})
}

// decide is what a server does.
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

// collect sends the calls that wait no more, each in its time.
func (p *simulated) collect() {
	p.open = slices.DeleteFunc(p.open, func(t *standing) bool {
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
				p.stand(t, t.call)
			default:
				// It is on its way for as long as the spread leaves it.
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
