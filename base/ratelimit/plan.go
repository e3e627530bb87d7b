package ratelimit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// All moments and times of a plan are microseconds: nanoseconds since 1970 do not fit the numbers of Redis's scripts.
const (
	// horizon is how far ahead a ledger that many share grants calls. What a process was granted is lost for as long when it dies.
	horizon = 2_000_000
	// claimLife is how long a claim lasts that is not renewed: a little longer than processes that wait take between two asks.
	claimLife = 3_000_000
	// unasked is how long nobody asks a common ledger that can be reached, at the most: processes stay in touch.
	unasked = 2_750_000
	// partMost is how long after its return to the common ledger a process may go on with its own part because it has looked of late.
	partMost = 1500 * time.Millisecond
	// horizonTime is the horizon.
	horizonTime = horizon * time.Microsecond
	// hush is how long it grants nothing after more than that, or after it has taken the place of another: until all who went on with their own
	// parts, or with the other, have noticed, and what they were granted is used up.
	hush = horizon + int64(partMost/time.Microsecond)
)

// plan is what all processes know together of the limits: which moments are granted, and who claims how much. Its zero value is of no use.
//
// ask.lua says the same in Lua, and a test holds the two together.
type plan struct {
	horizon int64 // how far ahead calls are granted
	// from is the moment up to which what a plan before this one has granted may lie.
	from    int64
	unasked int64         // how long nobody asks it, unless it cannot be reached; 0 where that says nothing
	asked   int64         // when it was asked last
	books   map[Key]*book // by Key.id
	asks    int
}

// book is a plan's page of one limit.
type book struct {
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

func (p *plan) sweep(now int64) {
	maps.DeleteFunc(p.books, func(_ Key, b *book) bool {
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

// none stands for no limit where limits are told by their places in an ask.
const none = -1

// limit is a limit as an ask names it.
type limit struct {
	key  Key
	part float64 // of it is to be used; 0 means all
	pace
	bursts        bool  // it may have a burst: its calls are not told apart
	calls, window int64 // no window of this length has more than so much started; without calls that is not looked at
	ahead         int64 // how far behind the horizon ready may lie
	after         int64 // nothing is granted before this moment
}

// kept is how long a granted call is remembered: for its window, and until the next one may follow, which is later where there are fewer calls in a window than
// processes, or only a part of one.
func (l limit) kept() int64 { return max(l.window, l.every) }

// want is what a process asks for calls of one importance that the same limits cover, but for those of their accounts.
type want struct {
	importance int
	group      string
	rows       int      // how many a call is thought to match, on average
	demand     int      // calls of the kind within the horizon: those that wait and those granted of late
	common     []int    // of the ask's limits, those of all calls; they are shared out
	costs      []int    // how much a call takes of these; nil means 1, and 0 what it is thought to match
	ownCosts   []int    // and of those of its account, in the order of wanted.own
	calls      []wanted // the first goes first
	expected   expected // come after these
}

// wanted is one call of a want.
type wanted struct {
	own  []int // of the ask's limits, those of its account
	rows int   // how many it is thought to match
	from int64 // the moment before which it is not granted; 0 for one that waits
}

// expected are calls that nobody waits for yet: the first is granted that long after the ask at the earliest, and each of the others so much
// after the one before. No account's limit covers them, and none of rows.
type expected struct {
	calls        int
	after, every int64
}

// call returns a call of a want by its number, which goes on with those expected.
func (w want) call(n int) wanted {
	if n < len(w.calls) {
		return w.calls[n]
	}
	return wanted{}
}

// all returns all calls of a want that is asked now.
func (w want) all(now int64) []wanted {
	all := slices.Clip(w.calls)
	for n := range w.expected.calls {
		all = append(all, wanted{from: now + w.expected.after + int64(n)*w.expected.every})
	}
	return all
}

// ask is everything that a process asks at a moment, the more important first.
type ask struct {
	process string
	back    bool // it has been without this plan, and others may still be: nothing is granted within the horizon
	moved   bool // this plan has taken the place of another, which others may still use: nothing is granted within hush
	limits  []limit
	settled []settled
	unused  []unused
	wants   []want
}

// settled tells that calls took more of a limit of rows than was granted. What they took less is not told: who comes later cannot know whether a
// window still counts it.
type settled struct {
	limit int
	more  int
}

// unused is a granted call that will not be made. Its moments are free again; where a limit has none, the call counts all the same.
type unused struct {
	at            int64 // its moment
	limits, costs []int
}

// given is the answer to one want.
type given struct {
	starts []start
	rate   float64 // calls of the kind that the claimant may have each second, whatever it wants; 0 where nothing limits them
	by     int     // the limit that holds back the first call that was not granted, or none
	opens  int64   // the moment before which that call cannot start, from now on; 0 if all were granted
	scarce bool    // all who claim a limit want more of it together than there is
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

// start is a granted call.
type start struct {
	call int   // of the want's calls
	at   int64 // from now on
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

// answer decides on an ask at the moment now.
//
// A claimant's share is weighted max-min fair: by importance first, then between processes and groups of one importance. It is a pace, not a
// number: paid says how far it has been granted, and grants go up to the horizon. Beyond its share a claimant gets what would else pass
// unused before the next process asks.
func (p *plan) answer(now int64, a ask) []given {
	if a.back {
		p.from = max(p.from, now+p.horizon)
	}
	if a.moved {
		p.from = max(p.from, now+hush)
	}
	if p.unasked > 0 && p.asked > 0 && now-p.asked > p.unasked {
		p.from = max(p.from, now+hush)
	}
	p.asked = now
	if p.asks++; p.asks%sweepEvery == 0 {
		p.sweep(now)
	}
	books := make([]*book, len(a.limits))
	for i, l := range a.limits {
		books[i] = p.book(l.key)
		books[i].forget(now, p.horizon, l)
		a.limits[i].after = p.from + l.every
	}
	if !a.back { // What it tells of was granted by another Redis, or by this one before it lost it.
		for _, s := range a.settled {
			b := books[s.limit]
			b.ready = max(b.ready, now) + int64(s.more)*a.limits[s.limit].every
		}
		for _, u := range a.unused {
			for n, i := range u.limits {
				books[i].giveBack(u.at, nth(u.costs, n), a.limits[i])
			}
		}
	}
	for _, w := range a.wants {
		for n, i := range w.common {
			if c := claimOf(books[i], now, claimant{a.process, w.importance, w.group}); c != nil {
				c.demand, c.seen = w.demand*cost(w.costs, n, w.rows), now
			}
		}
	}
	turns := make([]*turn, len(a.wants))
	for i, w := range a.wants {
		turns[i] = p.turn(now, a, w, books)
	}
	for _, t := range turns {
		t.grant(now+p.horizon, t.fair)
	}
	for _, t := range turns {
		t.grant(t.soon, len(t.calls))
	}
	out := make([]given, len(a.wants))
	for i, t := range turns {
		out[i] = t.end(now, p.horizon)
	}
	return out
}

func (p *plan) book(k Key) *book {
	b := p.books[k.id()]
	if b == nil {
		b = &book{claims: map[claimant]*claim{}}
		p.books[k.id()] = b
	}
	return b
}

func claimOf(b *book, now int64, who claimant) *claim {
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
	ask    ask
	books  []*book
	want   want
	calls  []wanted  // with those expected
	claims []*claim  // of its common limits
	rates  []float64 // of them: how much a microsecond it may have
	fair   int       // how many calls are its share until the horizon
	soon   int64     // until when it may have more
	held   int       // the limit that holds back its next call
	free   int64     // the next moment that all common limits leave free
	over   []bool    // of its calls: it is granted
	rows   int       // that those granted are thought to match
	given  given
}

func (p *plan) turn(now int64, a ask, w want, books []*book) *turn {
	who := claimant{a.process, w.importance, w.group}
	t := &turn{now: now, ask: a, books: books, want: w, soon: now + p.horizon, held: none, free: now, calls: w.all(now), given: given{by: none}}
	t.over = make([]bool, len(t.calls))
	fair := float64(len(t.calls))
	for i, l := range w.common {
		b, each := books[l], float64(cost(w.costs, i, w.rows))
		c := b.claims[who]
		rate := max(rateLeast, b.share(who, float64(p.horizon)/float64(a.limits[l].every))/float64(p.horizon))
		c.paid = max(c.paid, now-int64(each/rate))
		if n := rate * float64(now+p.horizon-c.paid) / each; n < fair {
			fair, t.held = n, l
		}
		t.soon = min(t.soon, now+p.horizon/b.processes())
		t.given.scarce = t.given.scarce || b.demand()*a.limits[l].every >= p.horizon
		if r := rate / each * 1e6; t.given.rate == 0 || r < t.given.rate {
			t.given.rate = r
		}
		t.claims, t.rates = append(t.claims, c), append(t.rates, rate)
	}
	t.fair = int(max(0, fair))
	return t
}

// grant grants calls that start by last, until so many are granted in all.
func (t *turn) grant(last int64, most int) {
	t.given.by, t.given.opens = none, 0
	for n, call := range t.calls {
		if t.over[n] {
			continue
		}
		if len(t.given.starts) >= most {
			return
		}
		from := t.free
		if call.from > 0 {
			from = max(from, t.inStep(call.from))
		}
		free, by := t.earliest(from, t.want.common, t.want.costs, call.rows)
		if t.free = free; by != none {
			t.held = by
		}
		if free > last && call.from > 0 {
			return // Nobody waits for it.
		}
		if free > last {
			t.given.by, t.given.opens = t.held, free
			return
		}
		at, by := free, none
		for {
			own, ownBy := t.earliest(at, call.own, t.want.ownCosts, call.rows)
			if ownBy != none {
				by = ownBy
			}
			at, _ = t.earliest(own, t.want.common, t.want.costs, call.rows)
			if at == own {
				break
			}
		}
		if at > last {
			if t.given.by == none {
				t.given.by, t.given.opens = by, at
			}
			continue
		}
		for i, l := range t.want.common {
			t.books[l].take(at, cost(t.want.costs, i, call.rows), t.ask.limits[l])
		}
		for i, l := range call.own {
			t.books[l].take(at, cost(t.want.ownCosts, i, call.rows), t.ask.limits[l])
		}
		t.rows += call.rows
		t.over[n] = true
		t.given.starts = append(t.given.starts, start{n, at})
	}
}

// inStep is a moment, or the first after it that is whole steps after the calls that the common limits have granted last: between moments that are out of
// step with each other, less than a step is left, which is of use to nobody.
func (t *turn) inStep(from int64) int64 {
	at := from
	for _, l := range t.want.common {
		at = max(at, t.books[l].inStep(t.now, from, t.ask.limits[l].every))
	}
	return at
}

func (b *book) inStep(now, from, every int64) int64 {
	i, _ := slices.BinarySearch(b.granted, from)
	if i == 0 || every == 0 || b.granted[i-1] < now-every {
		return from
	}
	last := b.granted[i-1]
	return last + ceilDiv(from-last, every)*every
}

// end settles the claims, and returns what was given, with moments from now on.
func (t *turn) end(now, horizon int64) given {
	for i, c := range t.claims {
		c.most = math.MaxInt32
		each := cost(t.want.costs, i, t.want.rows)
		for j, rate := range t.rates {
			if j != i {
				c.most = min(c.most, (int(rate*float64(horizon)/float64(cost(t.want.costs, j, t.want.rows)))+1)*each)
			}
		}
		taken := len(t.given.starts) * nth(t.want.costs, i)
		if taken == 0 {
			taken = t.rows
		}
		c.paid = int64(min(float64(c.paid)+math.Floor(float64(taken)/t.rates[i]), float64(now+2*horizon)))
	}
	for i := range t.given.starts {
		t.given.starts[i].at -= now
	}
	if t.given.opens > 0 {
		t.given.opens -= now
	}
	return t.given
}

// earliest is the first moment from a moment on that limits leave free, and which of them came last to do so, none if all do then.
func (t *turn) earliest(from int64, which, costs []int, rows int) (at int64, by int) {
	at, by = from, none
	for moved := true; moved; {
		moved = false
		for i, l := range which {
			if next := t.books[l].earliest(at, cost(costs, i, rows), t.ask.limits[l]); next > at {
				at, by, moved = next, l, true
			}
		}
	}
	return at, by
}

// earliest is the first moment from t on at which the limit leaves so much free.
func (b *book) earliest(t int64, cost int, l limit) int64 {
	t = max(t, l.after)
	if l.bursts {
		return max(t, b.ready-max(0, l.tolerance-int64(cost-1)*l.every))
	}
	i, _ := slices.BinarySearch(b.granted, t)
	if i > 0 {
		t = max(t, b.granted[i-1]+l.every)
	}
	for ; i < len(b.granted) && b.granted[i] < t+int64(cost)*l.every; i++ {
		t = max(t, b.granted[i]+l.every)
	}
	if last := min(int64(i)-l.calls+int64(cost), int64(i)); b.crowded > 0 && last > 0 {
		t = max(t, b.granted[last-1]+l.window)
	}
	return t
}

// take takes so much from t on: of a calendar as many moments.
func (b *book) take(t int64, cost int, l limit) {
	if l.bursts {
		b.ready = max(b.ready, t) + int64(cost)*l.every
		return
	}
	i, _ := slices.BinarySearch(b.granted, t)
	for n := range cost {
		b.granted = slices.Insert(b.granted, i+n, t+int64(n)*l.every)
	}
}

// giveBack undoes a take, as far as its moments are still where the limit's present number puts them.
func (b *book) giveBack(t int64, cost int, l limit) {
	for n := range cost {
		if i, found := slices.BinarySearch(b.granted, t+int64(n)*l.every); found {
			b.granted = slices.Delete(b.granted, i, i+1)
		}
	}
}

// forget drops what no longer matters.
func (b *book) forget(now, horizon int64, l limit) {
	b.kept = l.kept()
	i, _ := slices.BinarySearch(b.granted, now-b.kept)
	b.granted = slices.Delete(b.granted, 0, i)
	switch {
	case l.calls > 0 && b.every > 0 && l.every > b.every:
		b.crowded = now + horizon + l.window
	case b.crowded < now:
		b.crowded = 0
	}
	b.every = l.every
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
func (b *book) share(me claimant, all float64) float64 {
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
func (b *book) demand() int64 {
	all := int64(0)
	for _, c := range b.claims {
		all += int64(min(c.demand, c.most))
	}
	return all
}

// processes is how many share the limit.
func (b *book) processes() int64 {
	seen := map[string]bool{}
	for who := range b.claims {
		seen[who.process] = true
	}
	return int64(max(1, len(seen)))
}

// clone returns a copy of a plan that shares nothing with it.
func (p *plan) clone() *plan {
	c := *p
	c.books = make(map[Key]*book, len(p.books))
	for k, b := range p.books {
		n := *b
		n.granted, n.claims = slices.Clone(b.granted), make(map[claimant]*claim, len(b.claims))
		for who, x := range b.claims {
			y := *x
			n.claims[who] = &y
		}
		c.books[k] = &n
	}
	return &c
}
