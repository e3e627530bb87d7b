package grant

import (
	"maps"
	"math"
	"slices"
	"time"
)

// All times of a plan are microseconds: nanoseconds since 1970 exceed the numbers of Redis's scripts.
const (
	// horizon is how far ahead a common ledger grants calls. When a process dies, its grants are lost for as long.
	horizon = 2_000_000
	// claimLife is how long a claim lasts that is not renewed. It is a little longer than the time between two requests
	// of a process whose calls wait.
	claimLife = 3_000_000
	// idleMost is the longest time between two requests to a common ledger that can be reached: processes stay in touch.
	idleMost = 2_750_000
	// PartMost is how long after its return to the common ledger a process may use its own part, because it has tried
	// the ledger recently.
	PartMost = 1500 * time.Millisecond
	// longQuiet is how long a common ledger grants nothing after a longer time without requests, or after it has replaced
	// another. By then all processes that used their own parts, or the other ledger, have noticed, and their grants are
	// used up.
	longQuiet = horizon + int64(PartMost/time.Microsecond)
)

// The times above as durations.
const (
	Horizon   = horizon * time.Microsecond
	IdleMost  = idleMost * time.Microsecond
	LongQuiet = Horizon + PartMost
)

// Plan is the shared state of the limits of all processes: which moments are granted, and who claims how much. Its
// zero value is not usable.
//
// grant.lua implements the same in Lua, and a test holds the two equal.
type Plan struct {
	spread  time.Duration
	horizon int64 // how far ahead calls are granted
	// from is the moment up to which the grants of an earlier plan may lie.
	from        int64
	idleMost    int64          // the longest time without requests unless it cannot be reached; 0 if unknown
	lastRequest int64          // the time of the last request
	usages      map[Key]*usage // by Key.ID
	requests    int
}

// sweepEvery is the number of requests after which limits without current state are dropped.
const sweepEvery = 1000

func (p *Plan) sweep(now int64) {
	maps.DeleteFunc(p.usages, func(_ Key, b *usage) bool {
		used := b.ready > now || len(b.granted) > 0 && b.granted[len(b.granted)-1] >= now-b.kept
		for _, c := range b.claims {
			used = used || c.seen >= now-claimLife
		}
		return !used
	})
}

// None stands for no limit where limits are numbered by their places in a request.
const None = -1

// rateLeast stands for a share of nothing.
const rateLeast = 1e-12

// Answer decides on a request at the time now.
//
// A claimant's share is weighted max-min fair: between importances first, then between the processes and groups of
// one importance. A share is a pace, not a number. paid is the moment up to which the claimant has been granted its
// share, and grants go up to the horizon. Beyond its share a claimant gets what would be lost before the next process
// sends a request.
func (p *Plan) Answer(now int64, a Request) []Given {
	if a.Back {
		p.from = max(p.from, now+p.horizon)
	}
	if a.Moved {
		p.from = max(p.from, now+longQuiet)
	}
	if p.idleMost > 0 && p.lastRequest > 0 && now-p.lastRequest > p.idleMost {
		p.from = max(p.from, now+longQuiet)
	}
	p.lastRequest = now
	if p.requests++; p.requests%sweepEvery == 0 {
		p.sweep(now)
	}
	usages := make([]*usage, len(a.Limits))
	for i, l := range a.Limits {
		usages[i] = p.usageOf(l.Key)
		usages[i].forget(now, p.horizon, l)
		a.Limits[i].after = p.from + l.Every
	}
	if !a.Back { // Settled and Unused concern grants of another Redis, or of this one before it lost them.
		for _, s := range a.Settled {
			b := usages[s.Limit]
			b.ready = max(b.ready, now) + int64(s.More)*a.Limits[s.Limit].Every
		}
		for _, u := range a.Unused {
			for n, i := range u.Limits {
				usages[i].undo(u.At, nth(u.Costs, n), a.Limits[i])
			}
		}
	}
	for _, w := range a.Wants {
		for n, i := range w.Common {
			if c := claimOf(usages[i], now, claimant{a.Process, w.Importance, w.Group}); c != nil {
				c.demand, c.seen = w.Demand*cost(w.Costs, n, w.Rows), now
			}
		}
	}
	allotments := make([]*allotment, len(a.Wants))
	for i, w := range a.Wants {
		allotments[i] = p.allot(now, a, w, usages)
	}
	for _, t := range allotments {
		t.grant(now+p.horizon, t.fair)
	}
	for _, t := range allotments {
		t.grant(t.soon, len(t.calls))
	}
	out := make([]Given, len(a.Wants))
	for i, t := range allotments {
		out[i] = t.end(now, p.horizon)
	}
	return out
}

// NewPlan returns an empty plan with the arrival spread of ratelimit.Config, for any number of processes.
func NewPlan(spread time.Duration) *Plan {
	return &Plan{spread: spread, horizon: horizon, idleMost: idleMost, usages: map[Key]*usage{}}
}

// HoldUntil grants nothing before a moment.
func (p *Plan) HoldUntil(until int64) { p.from = max(p.from, until) }

// Decide is Answer for a request whose limits only have keys and parts.
func (p *Plan) Decide(now int64, a Request) []Given {
	a.Limits = slices.Clone(a.Limits)
	for i, l := range a.Limits {
		a.Limits[i] = l.of(p.spread, 1)
	}
	return p.Answer(now, a)
}

func (p *Plan) usageOf(k Key) *usage {
	b := p.usages[k.ID()]
	if b == nil {
		b = &usage{claims: map[claimant]*claim{}}
		p.usages[k.ID()] = b
	}
	return b
}

// allotment is the state of a want that is being answered.
type allotment struct {
	now     int64
	request Request
	usages  []*usage
	want    Want
	calls   []Wanted  // with the expected ones
	claims  []*claim  // on its common limits
	rates   []float64 // on its common limits: what the claimant may take per microsecond
	fair    int       // the number of calls that its share allows until the horizon
	soon    int64     // until when it may have more than its share
	held    int       // the limit that holds back its next call
	free    int64     // the next moment that all common limits leave free
	over    []bool    // by call: it is granted
	rows    int       // the estimated rows of the granted calls
	given   Given
}

func (p *Plan) allot(now int64, a Request, w Want, usages []*usage) *allotment {
	who := claimant{a.Process, w.Importance, w.Group}
	t := &allotment{now: now, request: a, usages: usages, want: w, soon: now + p.horizon, held: None, free: now,
		calls: w.all(now), given: Given{By: None}}
	t.over = make([]bool, len(t.calls))
	fair := float64(len(t.calls))
	for i, l := range w.Common {
		b, each := usages[l], float64(cost(w.Costs, i, w.Rows))
		c := b.claims[who]
		rate := max(rateLeast, b.share(who, float64(p.horizon)/float64(a.Limits[l].Every))/float64(p.horizon))
		c.paid = max(c.paid, now-int64(each/rate))
		if n := rate * float64(now+p.horizon-c.paid) / each; n < fair {
			fair, t.held = n, l
		}
		t.soon = min(t.soon, now+p.horizon/b.processes())
		t.given.Scarce = t.given.Scarce || b.demand()*a.Limits[l].Every >= p.horizon
		if r := rate / each * 1e6; t.given.Rate == 0 || r < t.given.Rate {
			t.given.Rate = r
		}
		t.claims, t.rates = append(t.claims, c), append(t.rates, rate)
	}
	t.fair = int(max(0, fair))
	return t
}

// grant grants calls that start by last, until most are granted in total.
func (t *allotment) grant(last int64, most int) {
	t.given.By, t.given.Opens = None, 0
	for n, call := range t.calls {
		if t.over[n] {
			continue
		}
		if len(t.given.Starts) >= most {
			return
		}
		from := t.free
		if call.from > 0 {
			from = max(from, t.inStep(call.from))
		}
		free, by := t.earliest(from, t.want.Common, t.want.Costs, call.Rows)
		if t.free = free; by != None {
			t.held = by
		}
		if free > last && call.from > 0 {
			return // No caller waits for it.
		}
		if free > last {
			t.given.By, t.given.Opens = t.held, free
			return
		}
		at, by := free, None
		for {
			own, ownBy := t.earliest(at, call.Own, t.want.OwnCosts, call.Rows)
			if ownBy != None {
				by = ownBy
			}
			at, _ = t.earliest(own, t.want.Common, t.want.Costs, call.Rows)
			if at == own {
				break
			}
		}
		if at > last {
			if t.given.By == None {
				t.given.By, t.given.Opens = by, at
			}
			continue
		}
		for i, l := range t.want.Common {
			t.usages[l].take(at, cost(t.want.Costs, i, call.Rows), t.request.Limits[l])
		}
		for i, l := range call.Own {
			t.usages[l].take(at, cost(t.want.OwnCosts, i, call.Rows), t.request.Limits[l])
		}
		t.rows += call.Rows
		t.over[n] = true
		t.given.Starts = append(t.given.Starts, Start{n, at})
	}
}

// inStep returns the first moment from a moment on that is a whole number of steps after the last grants of the
// common limits. Moments that are out of step leave gaps of less than a step, which no call can use.
func (t *allotment) inStep(from int64) int64 {
	at := from
	for _, l := range t.want.Common {
		at = max(at, t.usages[l].inStep(t.now, from, t.request.Limits[l].Every))
	}
	return at
}

// end updates the claims, and returns what was given, with moments from now on.
func (t *allotment) end(now, horizon int64) Given {
	for i, c := range t.claims {
		c.most = math.MaxInt32
		each := cost(t.want.Costs, i, t.want.Rows)
		for j, rate := range t.rates {
			if j != i {
				c.most = min(c.most, (int(rate*float64(horizon)/float64(cost(t.want.Costs, j, t.want.Rows)))+1)*each)
			}
		}
		taken := len(t.given.Starts) * nth(t.want.Costs, i)
		if taken == 0 {
			taken = t.rows
		}
		c.paid = int64(min(float64(c.paid)+math.Floor(float64(taken)/t.rates[i]), float64(now+2*horizon)))
	}
	for i := range t.given.Starts {
		t.given.Starts[i].At -= now
	}
	if t.given.Opens > 0 {
		t.given.Opens -= now
	}
	return t.given
}

// earliest returns the first moment from a moment on that limits leave free, and the limit that determined it; None
// if from is free.
func (t *allotment) earliest(from int64, which, costs []int, rows int) (at int64, by int) {
	at, by = from, None
	for moved := true; moved; {
		moved = false
		for i, l := range which {
			if next := t.usages[l].earliest(at, cost(costs, i, rows), t.request.Limits[l]); next > at {
				at, by, moved = next, l, true
			}
		}
	}
	return at, by
}

// Clone returns a deep copy of a plan.
func (p *Plan) Clone() *Plan {
	c := *p
	c.usages = make(map[Key]*usage, len(p.usages))
	for k, b := range p.usages {
		n := *b
		n.granted, n.claims = slices.Clone(b.granted), make(map[claimant]*claim, len(b.claims))
		for who, x := range b.claims {
			y := *x
			n.claims[who] = &y
		}
		c.usages[k] = &n
	}
	return &c
}
