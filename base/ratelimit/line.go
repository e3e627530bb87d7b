package ratelimit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// lineID says which calls wait in one line: those that the same limits cover, but for their accounts'.
type lineID struct {
	endpoint, app, rows string
	ofAccount           bool
	importance          int
}

// group names what a line claims of its limits, next to the other lines of its importance.
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
	return lineID{endpoint: grant.PlainEndpoint(c.Endpoint), app: c.App, rows: c.Rows, ofAccount: c.Account != "", importance: importance}
}

// line are the calls of one kind that wait for a grant.
type line struct {
	id      lineID
	waiting []*ticket         // by their turns; those of the same turn as they came
	held    []*ticket         // that wait for their account's limits, or for the end of a pause
	served  map[string]*tally // of the accounts that wait or were granted calls of late
	least   float64           // the lowest of these
	tallied time.Time         // up to when they are forgotten
	askAt   time.Time         // there is no use in asking before
	spare   []slot            // granted to calls that were given up, in order
	granted []batch           // within the horizon
	// How many calls came of late, and when and which the last one was; and whether others want what this line leaves, and it had all that it asked for.
	came   float64
	cameAt time.Time
	call   grant.Call
	scarce bool
	// What was told last of those who wait: the limit that holds back the first of them, and before when it cannot start.
	by    grant.Key
	every time.Duration // between two calls of it
	opens time.Time
	each  time.Duration // between two calls of the line, by its share
	// begins are the moments of those that are granted and have not begun.
	begins []time.Time
	// booked is up to when there are calls that went away and come back then.
	booked time.Time
}

// tally is how many calls an account was granted, from what the one with the fewest had when it came.
type tally struct {
	calls float64
	at    time.Time // when it came, or was granted one last
}

// batch is how many calls were granted when.
type batch struct {
	at time.Time
	n  int
}

// slot is a granted call: it may be sent from the one moment to the other.
type slot struct {
	from, until time.Time
	account     string     // whose it is, where its account has limits
	call        grant.Call // one that it was granted for
	rows        int        // that it was thought to match
	at          int64      // its moment by the ledger; 0 for one that is of no use to others
	ahead       bool       // it was granted for a call that was expected
}

// ticket is a call that waits, or has waited.
type ticket struct {
	line     *line
	call     grant.Call
	turn     Turn
	deadline time.Time // zero for none
	yield    *terms    // may be nil
	waits    bool
	opens    time.Time    // of one that is held: until when
	point    grant.Key    // of one that is held by a pause
	got      chan outcome // of one that waits no more
}

// outcome ends a ticket's wait.
type outcome struct {
	slot slot
	err  error
}

// insert puts a ticket in its place.
func (l *line) insert(t *ticket) {
	i, _ := slices.BinarySearchFunc(l.waiting, t.turn, func(t *ticket, turn Turn) int { return cmp.Or(t.turn.compare(turn), -1) })
	l.waiting = slices.Insert(l.waiting, i, t)
}

// inOrder returns those who wait in the order in which they are to be granted: by their turns, but the calls of an account that has had more
// than others only after theirs, in steps of roundCalls.
func (l *line) inOrder() []*ticket {
	type place struct {
		*ticket
		round int
	}
	order := make([]place, len(l.waiting))
	asked := map[string]int{}
	for i, t := range l.waiting {
		order[i].ticket = t
		if x := l.served[t.call.Account]; x != nil && t.call.Account != "" {
			order[i].round = (int(x.calls) + asked[t.call.Account]) / roundCalls
			asked[t.call.Account]++
		}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(a.round, b.round) })
	tickets := make([]*ticket, len(order))
	for i, p := range order {
		tickets[i] = p.ticket
	}
	return tickets
}

// forget drops the tallies of accounts that went away.
func (l *line) forget(now time.Time) {
	waiting := map[string]bool{}
	for _, t := range slices.Concat(l.waiting, l.held) {
		waiting[t.call.Account] = true
	}
	l.forgetBegun(now)
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
		// What it had while it was alone is no debt.
		x.calls = l.least + min((x.calls-l.least)*kept, 2*roundCalls)
	}
}

// earliest is before when a ticket cannot start that has so many before it, as far as that is known.
func (l *line) earliest(before int) time.Time { return l.opens.Add(time.Duration(before) * l.every) }

// hopeless tells whether a ticket with so many before it starts after its deadline.
func (l *line) hopeless(t *ticket, before int) bool {
	return !t.deadline.IsZero() && !l.opens.IsZero() && l.earliest(before).After(t.deadline)
}

// heldBy is what holds a ticket back that is put aside.
func (t *ticket) heldBy() grant.Key {
	if t.point != (grant.Key{}) {
		return t.point
	}
	return grant.Key{Media: t.call.Media, Endpoint: t.call.Endpoint, Scope: grant.ScopeAccount, Subject: t.call.Account}
}

// late is the error of a ticket whose deadline is too early.
func (l *line) late(t *ticket, before int, now time.Time) error {
	if l.opens.IsZero() {
		return &WaitError{Call: t.call, Key: grant.Key{Media: t.call.Media, Endpoint: t.call.Endpoint}}
	}
	return &WaitError{Call: t.call, Key: l.by, After: max(0, l.earliest(before).Sub(now))}
}

// grantedLately is how many calls were granted within the horizon.
func (l *line) grantedLately(now time.Time) (n int) {
	l.granted = slices.DeleteFunc(l.granted, func(b batch) bool { return now.Sub(b.at) > grant.Horizon })
	for _, b := range l.granted {
		n += b.n
	}
	return n
}

// isOver tells whether nothing of a line matters any more.
func (l *line) isOver(now time.Time) bool {
	return len(l.waiting)+len(l.held)+l.grantedLately(now) == 0 && !l.booked.After(now)
}
