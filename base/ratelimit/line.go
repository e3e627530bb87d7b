package ratelimit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// lineID identifies the calls that wait in one line: those that the same limits cover, apart from limits of accounts.
type lineID struct {
	endpoint, app, rows string
	ofAccount           bool
	importance          int
}

// group is the name under which a line claims its part of limits, among the lines of its importance.
func (id lineID) group() string {
	group := id.app + " " + id.endpoint
	if id.rows != "" {
		group += " " + id.rows
	}
	if !id.ofAccount {
		group += " of none"
	}
	return group
}

func lineOf(c grant.Call, importance int) lineID {
	return lineID{endpoint: grant.PlainEndpoint(c.Endpoint), app: c.App, rows: c.Rows, ofAccount: c.Account != "",
		importance: importance}
}

// line holds the calls of one kind that wait for a grant.
type line struct {
	id        lineID
	waiting   []*ticket         // in their order; those of equal rank in order of arrival
	held      []*ticket         // waiting for their account's limits, or for the end of a pause
	served    map[string]*tally // by account that waits or was recently granted calls
	least     float64           // the lowest number of calls in served
	tallied   time.Time         // until when tallies have decayed
	requestAt time.Time         // a request before is of no use
	spare     []slot            // grants without a caller, in order
	granted   []batch           // within the horizon
	// How many calls came recently, and when and what the last one was. scarce: others want what this line leaves, and
	// the line got all that it requested.
	recentCalls float64
	lastCallAt  time.Time
	call        grant.Call
	scarce      bool
	// From the last answer: the limit that holds back the first waiting call, and the time before which that call cannot
	// start.
	by    grant.Key
	every time.Duration // between two calls of that limit
	opens time.Time
	each  time.Duration // between two calls of the line, by its share
	// upcoming are the granted moments that lie ahead.
	upcoming []time.Time
	// lastComeBack is the latest time at which a caller that yielded comes back.
	lastComeBack time.Time
}

// tally counts the calls that an account was granted, beginning at the lowest number of all accounts when it came.
type tally struct {
	calls float64
	at    time.Time // when it came, or was granted its last call
}

// batch counts the calls that were granted at a time.
type batch struct {
	at time.Time
	n  int
}

// slot is a granted call, to be sent between from and until.
type slot struct {
	from, until time.Time
	account     string     // the account it is for, where accounts have limits
	call        grant.Call // the call it was granted for, or one like it
	rows        int        // the estimate of rows it was charged for
	at          int64      // its moment on the ledger's clock; 0 if it is of no use to others
	ahead       bool       // it was granted for an expected call
}

// ticket is a call that waits, or has waited.
type ticket struct {
	line     *line
	call     grant.Call
	rank     Rank
	deadline time.Time // zero for none
	yield    *terms    // may be nil
	waits    bool
	opens    time.Time    // if held: until when
	point    grant.Key    // if held by a pause: its point
	got      chan outcome // receives the end of the wait
}

// outcome is the result of a ticket's wait.
type outcome struct {
	slot slot
	err  error
}

// insert adds a ticket at its place.
func (l *line) insert(t *ticket) {
	i, _ := slices.BinarySearchFunc(l.waiting, t.rank,
		func(t *ticket, rank Rank) int { return cmp.Or(t.rank.compare(rank), -1) })
	l.waiting = slices.Insert(l.waiting, i, t)
}

// inOrder returns the waiting tickets in the order in which they are granted. They are ordered by rank, but calls of
// an account that has had more than others come after the others' calls, in steps of roundCalls.
func (l *line) inOrder() []*ticket {
	type place struct {
		*ticket
		round int
	}
	order := make([]place, len(l.waiting))
	ahead := map[string]int{}
	for i, t := range l.waiting {
		order[i].ticket = t
		if x := l.served[t.call.Account]; x != nil && t.call.Account != "" {
			order[i].round = (int(x.calls) + ahead[t.call.Account]) / roundCalls
			ahead[t.call.Account]++
		}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(a.round, b.round) })
	tickets := make([]*ticket, len(order))
	for i, p := range order {
		tickets[i] = p.ticket
	}
	return tickets
}

// forget drops the tallies of accounts that have no more calls.
func (l *line) forget(now time.Time) {
	waiting := map[string]bool{}
	for _, t := range slices.Concat(l.waiting, l.held) {
		waiting[t.call.Account] = true
	}
	l.forgetStarted(now)
	l.least = math.Inf(1)
	for account, x := range l.served {
		if !waiting[account] && now.Sub(x.at) > 2*grant.Horizon {
			delete(l.served, account)
			continue
		}
		l.least = min(l.least, x.calls)
	}
	if len(l.served) == 0 {
		l.least = 0
	}
	kept := math.Exp(-now.Sub(l.tallied).Seconds() / roundsForgotten.Seconds())
	l.tallied = now
	for _, x := range l.served {
		// What an account had while it was alone does not count against it.
		x.calls = l.least + min((x.calls-l.least)*kept, 2*roundCalls)
	}
}

// earliest returns the time before which a ticket with that many before it cannot start, as far as known.
func (l *line) earliest(before int) time.Time { return l.opens.Add(time.Duration(before) * l.every) }

// hopeless reports whether a ticket with that many before it would start after its deadline.
func (l *line) hopeless(t *ticket, before int) bool {
	return !t.deadline.IsZero() && !l.opens.IsZero() && l.earliest(before).After(t.deadline)
}

// heldBy returns the pause or the account limit that holds a ticket back.
func (t *ticket) heldBy() grant.Key {
	if t.point != (grant.Key{}) {
		return t.point
	}
	return grant.Key{Media: t.call.Media, Endpoint: t.call.Endpoint, Scope: grant.ScopeAccount, Subject: t.call.Account}
}

// late returns the error of a ticket whose deadline is too early.
func (l *line) late(t *ticket, before int, now time.Time) error {
	if l.opens.IsZero() {
		return &WaitError{Call: t.call, Key: grant.Key{Media: t.call.Media, Endpoint: t.call.Endpoint}}
	}
	return &WaitError{Call: t.call, Key: l.by, After: max(0, l.earliest(before).Sub(now))}
}

// grantedLately returns how many calls were granted within the horizon.
func (l *line) grantedLately(now time.Time) (n int) {
	l.granted = slices.DeleteFunc(l.granted, func(b batch) bool { return now.Sub(b.at) > grant.Horizon })
	for _, b := range l.granted {
		n += b.n
	}
	return n
}

// isOver reports whether the line can be dropped.
func (l *line) isOver(now time.Time) bool {
	return len(l.waiting)+len(l.held)+l.grantedLately(now) == 0 && !l.lastComeBack.After(now)
}
