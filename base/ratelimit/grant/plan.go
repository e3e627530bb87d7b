package grant

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// All moments and times of a plan are microseconds: nanoseconds since 1970 do not fit the numbers of Redis's scripts.
const (
	// Horizon is how far ahead a ledger that many share grants calls. What a process was granted is lost for as long when it dies.
	Horizon = 2_000_000
	// claimLife is how long a claim lasts that is not renewed: a little longer than processes that wait take between two asks.
	claimLife = 3_000_000
	// Unasked is how long nobody asks a common ledger that can be reached, at the most: processes stay in touch.
	Unasked = 2_750_000
	// PartMost is how long after its return to the common ledger a process may go on with its own part because it has looked of late.
	PartMost = 1500 * time.Millisecond
	// HorizonTime is the horizon.
	HorizonTime = Horizon * time.Microsecond
	// Hush is how long it grants nothing after more than that, or after it has taken the place of another: until all who went on with their own
	// parts, or with the other, have noticed, and what they were granted is used up.
	Hush = Horizon + int64(PartMost/time.Microsecond)
)

// Plan is what all processes know together of the limits: which moments are granted, and who claims how much. Its zero value is of no use.
//
// ask.lua says the same in Lua, and a test holds the two together.
type Plan struct {
	Horizon int64 // how far ahead calls are granted
	// From is the moment up to which what a plan before this one has granted may lie.
	From    int64
	Unasked int64         // how long nobody asks it, unless it cannot be reached; 0 where that says nothing
	asked   int64         // when it was asked last
	Books   map[Key]*Book // by Key.id
	asks    int
}

// Book is a plan's page of one limit.
type Book struct {
	// every is that of the last ask. When a limit is lowered, its window holds more than it may until crowded.
	every, crowded int64
	kept           int64 // how long granted moments are, by the last ask
	// granted are the moments of granted calls, in order, each at least every after the one before. Those are kept that keep others away.
	granted []int64
	// ready takes their place for a limit with a burst: when the calls so far are used up.
	ready  int64
	claims map[claimant]*claim
}

// sweepEvery is after how many asks limits are forgotten of which nothing matters any more.
const sweepEvery = 1000

func (p *Plan) sweep(now int64) {
	maps.DeleteFunc(p.Books, func(_ Key, b *Book) bool {
		used := b.ready > now || len(b.granted) > 0 && b.granted[len(b.granted)-1] >= now-b.kept
		for _, c := range b.claims {
			used = used || c.seen >= now-claimLife
		}
		return !used
	})
}

// claimant is who shares a limit with others: the calls of one importance to one endpoint of an app, in one process.
type claimant struct {
	process    string
	importance int
	group      string
}

// claim is how much a claimant wants, and how far it was served.
type claim struct {
	demand int   // calls within the horizon
	most   int   // how many of them its other limits let it have, as last reckoned
	paid   int64 // the moment up to which it has had its share
	seen   int64 // when it asked last
}

func (c *claim) wants() float64 { return float64(min(c.demand, c.most)) }

// None stands for no limit where limits are told by their places in an ask.
const None = -1

// Limit is a limit as an ask names it.
type Limit struct {
	Key  Key
	Part float64 // of it is to be used; 0 means all
	pace
	bursts        bool  // it may have a burst: its calls are not told apart
	calls, window int64 // no window of this length has more than so much started; without calls that is not looked at
	ahead         int64 // how far behind the horizon ready may lie
	after         int64 // nothing is granted before this moment
}

// kept is how long a granted call is remembered: for its window, and until the next one may follow, which is later where there are fewer calls in a window than
// processes, or only a part of one.
func (l Limit) kept() int64 { return max(l.window, l.Every) }

// Want is what a process asks for calls of one importance that the same limits cover, but for those of their accounts.
type Want struct {
	Importance int
	Group      string
	Rows       int      // how many a call is thought to match, on average
	Demand     int      // calls of the kind within the horizon: those that wait and those granted of late
	Common     []int    // of the ask's limits, those of all calls; they are shared out
	Costs      []int    // how much a call takes of these; nil means 1, and 0 what it is thought to match
	OwnCosts   []int    // and of those of its account, in the order of wanted.own
	Calls      []Wanted // the first goes first
	Expected   Expected // come after these
}

// Wanted is one call of a want.
type Wanted struct {
	Own  []int // of the ask's limits, those of its account
	Rows int   // how many it is thought to match
	from int64 // the moment before which it is not granted; 0 for one that waits
}

// Expected are calls that nobody waits for yet: the first is granted that long after the ask at the earliest, and each of the others so much
// after the one before. No account's limit covers them, and none of rows.
type Expected struct {
	Calls        int
	After, Every int64
}

// Call returns a call of a want by its number, which goes on with those expected.
func (w Want) Call(n int) Wanted {
	if n < len(w.Calls) {
		return w.Calls[n]
	}
	return Wanted{}
}

// all returns all calls of a want that is asked now.
func (w Want) all(now int64) []Wanted {
	all := slices.Clip(w.Calls)
	for n := range w.Expected.Calls {
		all = append(all, Wanted{from: now + w.Expected.After + int64(n)*w.Expected.Every})
	}
	return all
}

// Ask is everything that a process asks at a moment, the more important first.
type Ask struct {
	Process string
	Back    bool // it has been without this plan, and others may still be: nothing is granted within the horizon
	Moved   bool // this plan has taken the place of another, which others may still use: nothing is granted within hush
	Limits  []Limit
	Settled []Settled
	Unused  []Unused
	Wants   []Want
}

// Settled tells that calls took more of a limit of rows than was granted. What they took less is not told: who comes later cannot know whether a
// window still counts it.
type Settled struct {
	Limit int
	More  int
}

// Unused is a granted call that will not be made. Its moments are free again; where a limit has none, the call counts all the same.
type Unused struct {
	At            int64 // its moment
	Limits, Costs []int
}

// Given is the answer to one want.
type Given struct {
	Starts []Start
	Rate   float64 // calls of the kind that the claimant may have each second, whatever it wants; 0 where nothing limits them
	By     int     // the limit that holds back the first call that was not granted, or none
	Opens  int64   // the moment before which that call cannot start, from now on; 0 if all were granted
	Scarce bool    // all who claim a limit want more of it together than there is
}

// nth is one of costs, of which none means 1 each.
func nth(costs []int, n int) int {
	if costs == nil {
		return 1
	}
	return costs[n]
}

// cost is nth of costs, or rows.
func cost(costs []int, n, rows int) int { return max(1, cmp.Or(nth(costs, n), rows)) }

// rateLeast stands for a share of nothing.
const rateLeast = 1e-12

// Start is a granted call.
type Start struct {
	Call int   // of the want's calls
	At   int64 // from now on
}

// weight is what a share counts by its importance: ten more are ten times as much. What is to have spare calls alone counts nothing.
func weight(importance int) float64 {
	if importance < 0 {
		return 0
	}
	importance = min(max(importance, 0), 100)
	w := 1.0
	for ; importance >= 10; importance -= 10 {
		w *= 10
	}
	return w * float64(10+9*importance) / 10
}

// Answer decides on an ask at the moment now.
//
// A claimant's share is weighted max-min fair: by importance first, then between processes and groups of one importance. It is a pace, not a
// number: paid says how far it has been granted, and grants go up to the horizon. Beyond its share a claimant gets what would else pass
// unused before the next process asks.
func (p *Plan) Answer(now int64, a Ask) []Given {
	if a.Back {
		p.From = max(p.From, now+p.Horizon)
	}
	if a.Moved {
		p.From = max(p.From, now+Hush)
	}
	if p.Unasked > 0 && p.asked > 0 && now-p.asked > p.Unasked {
		p.From = max(p.From, now+Hush)
	}
	p.asked = now
	if p.asks++; p.asks%sweepEvery == 0 {
		p.sweep(now)
	}
	books := make([]*Book, len(a.Limits))
	for i, l := range a.Limits {
		books[i] = p.book(l.Key)
		books[i].forget(now, p.Horizon, l)
		a.Limits[i].after = p.From + l.Every
	}
	if !a.Back { // What it tells of was granted by another Redis, or by this one before it lost it.
		for _, s := range a.Settled {
			b := books[s.Limit]
			b.ready = max(b.ready, now) + int64(s.More)*a.Limits[s.Limit].Every
		}
		for _, u := range a.Unused {
			for n, i := range u.Limits {
				books[i].giveBack(u.At, nth(u.Costs, n), a.Limits[i])
			}
		}
	}
	for _, w := range a.Wants {
		for n, i := range w.Common {
			if c := claimOf(books[i], now, claimant{a.Process, w.Importance, w.Group}); c != nil {
				c.demand, c.seen = w.Demand*cost(w.Costs, n, w.Rows), now
			}
		}
	}
	turns := make([]*turn, len(a.Wants))
	for i, w := range a.Wants {
		turns[i] = p.turn(now, a, w, books)
	}
	for _, t := range turns {
		t.grant(now+p.Horizon, t.fair)
	}
	for _, t := range turns {
		t.grant(t.soon, len(t.calls))
	}
	out := make([]Given, len(a.Wants))
	for i, t := range turns {
		out[i] = t.end(now, p.Horizon)
	}
	return out
}

func (p *Plan) book(k Key) *Book {
	b := p.Books[k.ID()]
	if b == nil {
		b = &Book{claims: map[claimant]*claim{}}
		p.Books[k.ID()] = b
	}
	return b
}

func claimOf(b *Book, now int64, who claimant) *claim {
	c := b.claims[who]
	if c == nil {
		c = &claim{most: math.MaxInt32, paid: now}
		b.claims[who] = c
	}
	return c
}

// turn is the state of a want that is being answered.
type turn struct {
	now    int64
	ask    Ask
	books  []*Book
	want   Want
	calls  []Wanted  // with those expected
	claims []*claim  // of its common limits
	rates  []float64 // of them: how much a microsecond it may have
	fair   int       // how many calls are its share until the horizon
	soon   int64     // until when it may have more
	held   int       // the limit that holds back its next call
	free   int64     // the next moment that all common limits leave free
	over   []bool    // of its calls: it is granted
	rows   int       // that those granted are thought to match
	given  Given
}

func (p *Plan) turn(now int64, a Ask, w Want, books []*Book) *turn {
	who := claimant{a.Process, w.Importance, w.Group}
	t := &turn{now: now, ask: a, books: books, want: w, soon: now + p.Horizon, held: None, free: now, calls: w.all(now), given: Given{By: None}}
	t.over = make([]bool, len(t.calls))
	fair := float64(len(t.calls))
	for i, l := range w.Common {
		b, each := books[l], float64(cost(w.Costs, i, w.Rows))
		c := b.claims[who]
		rate := max(rateLeast, b.share(who, float64(p.Horizon)/float64(a.Limits[l].Every))/float64(p.Horizon))
		c.paid = max(c.paid, now-int64(each/rate))
		if n := rate * float64(now+p.Horizon-c.paid) / each; n < fair {
			fair, t.held = n, l
		}
		t.soon = min(t.soon, now+p.Horizon/b.processes())
		t.given.Scarce = t.given.Scarce || b.demand()*a.Limits[l].Every >= p.Horizon
		if r := rate / each * 1e6; t.given.Rate == 0 || r < t.given.Rate {
			t.given.Rate = r
		}
		t.claims, t.rates = append(t.claims, c), append(t.rates, rate)
	}
	t.fair = int(max(0, fair))
	return t
}

// grant grants calls that start by last, until so many are granted in all.
func (t *turn) grant(last int64, most int) {
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
			return // Nobody waits for it.
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
			t.books[l].take(at, cost(t.want.Costs, i, call.Rows), t.ask.Limits[l])
		}
		for i, l := range call.Own {
			t.books[l].take(at, cost(t.want.OwnCosts, i, call.Rows), t.ask.Limits[l])
		}
		t.rows += call.Rows
		t.over[n] = true
		t.given.Starts = append(t.given.Starts, Start{n, at})
	}
}

// inStep is a moment, or the first after it that is whole steps after the calls that the common limits have granted last: between moments that are out of
// step with each other, less than a step is left, which is of use to nobody.
func (t *turn) inStep(from int64) int64 {
	at := from
	for _, l := range t.want.Common {
		at = max(at, t.books[l].inStep(t.now, from, t.ask.Limits[l].Every))
	}
	return at
}

func (b *Book) inStep(now, from, every int64) int64 {
	i, _ := slices.BinarySearch(b.granted, from)
	if i == 0 || every == 0 || b.granted[i-1] < now-every {
		return from
	}
	last := b.granted[i-1]
	return last + ceilDiv(from-last, every)*every
}

// end settles the claims, and returns what was given, with moments from now on.
func (t *turn) end(now, horizon int64) Given {
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

// earliest is the first moment from a moment on that limits leave free, and which of them came last to do so, none if all do then.
func (t *turn) earliest(from int64, which, costs []int, rows int) (at int64, by int) {
	at, by = from, None
	for moved := true; moved; {
		moved = false
		for i, l := range which {
			if next := t.books[l].earliest(at, cost(costs, i, rows), t.ask.Limits[l]); next > at {
				at, by, moved = next, l, true
			}
		}
	}
	return at, by
}

// earliest is the first moment from t on at which the limit leaves so much free.
func (b *Book) earliest(t int64, cost int, l Limit) int64 {
	t = max(t, l.after)
	if l.bursts {
		return max(t, b.ready-max(0, l.tolerance-int64(cost-1)*l.Every))
	}
	i, _ := slices.BinarySearch(b.granted, t)
	if i > 0 {
		t = max(t, b.granted[i-1]+l.Every)
	}
	for ; i < len(b.granted) && b.granted[i] < t+int64(cost)*l.Every; i++ {
		t = max(t, b.granted[i]+l.Every)
	}
	if last := min(int64(i)-l.calls+int64(cost), int64(i)); b.crowded > 0 && last > 0 {
		t = max(t, b.granted[last-1]+l.window)
	}
	return t
}

// take takes so much from t on: of a calendar as many moments.
func (b *Book) take(t int64, cost int, l Limit) {
	if l.bursts {
		b.ready = max(b.ready, t) + int64(cost)*l.Every
		return
	}
	i, _ := slices.BinarySearch(b.granted, t)
	for n := range cost {
		b.granted = slices.Insert(b.granted, i+n, t+int64(n)*l.Every)
	}
}

// giveBack undoes a take, as far as its moments are still where the limit's present number puts them.
func (b *Book) giveBack(t int64, cost int, l Limit) {
	for n := range cost {
		if i, found := slices.BinarySearch(b.granted, t+int64(n)*l.Every); found {
			b.granted = slices.Delete(b.granted, i, i+1)
		}
	}
}

// forget drops what no longer matters.
func (b *Book) forget(now, horizon int64, l Limit) {
	b.kept = l.kept()
	i, _ := slices.BinarySearch(b.granted, now-b.kept)
	b.granted = slices.Delete(b.granted, 0, i)
	switch {
	case l.calls > 0 && b.every > 0 && l.Every > b.every:
		b.crowded = now + horizon + l.window
	case b.crowded < now:
		b.crowded = 0
	}
	b.every = l.Every
	// No grant goes further than this: what does is left from a lower limit, or from a clock that was set back.
	b.ready = max(0, min(b.ready, now+horizon+l.ahead))
	for who, c := range b.claims {
		if c.seen < now-claimLife {
			delete(b.claims, who)
		}
	}
}

// class are the claims of one weight.
type class struct{ weight, demand float64 }

func (c class) perWeight() float64 {
	if c.weight == 0 {
		return math.Inf(1)
	}
	return c.demand / c.weight
}

// share is how many of all calls of the horizon a claimant may have, whatever it wants, beside what the others want.
func (b *Book) share(me claimant, all float64) float64 {
	var classes []class
	mine := weight(me.importance)
	var beside []float64 // the demands in my class
	for who, c := range b.claims {
		w, demand := weight(who.importance), c.wants()
		if who == me {
			continue
		}
		if w == mine {
			beside = append(beside, demand)
			continue
		}
		i := slices.IndexFunc(classes, func(c class) bool { return c.weight == w })
		if i < 0 {
			classes = append(classes, class{weight: w})
			i = len(classes) - 1
		}
		classes[i].demand += demand
	}
	left, weights := all, mine
	slices.SortFunc(classes, func(a, b class) int { return cmp.Compare(a.weight, b.weight) })
	for _, c := range classes { // in one order: sums of floats depend on it
		weights += c.weight
	}
	slices.SortFunc(classes, func(a, b class) int {
		return cmp.Or(cmp.Compare(a.perWeight(), b.perWeight()), cmp.Compare(a.weight, b.weight))
	})
	// My class wants more than all others: it gets what is left when the others have had theirs.
	for _, c := range classes {
		part := min(c.demand, left*c.weight/weights)
		left -= part
		weights -= c.weight
	}
	slices.Sort(beside)
	for i, demand := range beside {
		left -= min(demand, left/float64(len(beside)+1-i))
	}
	return left
}

// demand is how many calls all claimants want within the horizon.
func (b *Book) demand() int64 {
	all := int64(0)
	for _, c := range b.claims {
		all += int64(min(c.demand, c.most))
	}
	return all
}

// processes is how many share the limit.
func (b *Book) processes() int64 {
	seen := map[string]bool{}
	for who := range b.claims {
		seen[who.process] = true
	}
	return int64(max(1, len(seen)))
}

// Clone returns a copy of a plan that shares nothing with it.
func (p *Plan) Clone() *Plan {
	c := *p
	c.Books = make(map[Key]*Book, len(p.Books))
	for k, b := range p.Books {
		n := *b
		n.granted, n.claims = slices.Clone(b.granted), make(map[claimant]*claim, len(b.claims))
		for who, x := range b.claims {
			y := *x
			n.claims[who] = &y
		}
		c.Books[k] = &n
	}
	return &c
}
