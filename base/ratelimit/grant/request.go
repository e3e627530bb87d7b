package grant

import (
	"cmp"
	"slices"
)

// Limit is a limit of a request.
type Limit struct {
	Key  Key
	Part float64 // the part of it that is to be used; 0 means all
	pace
	bursts        bool  // calls have no moments: the limit is kept as one number, with a burst
	calls, window int64 // no window of this length may hold more starts than calls; 0 calls means no check
	ahead         int64 // how far behind the horizon ready may lie
	after         int64 // nothing is granted before this moment
}

// kept returns how long a granted call is remembered: for its window and until the next call may follow. The latter
// is longer if a window holds fewer calls than there are processes, or only a part of a call.
func (l Limit) kept() int64 { return max(l.window, l.Every) }

// Want is what a process requests for calls of one importance that the same limits cover, apart from limits of
// accounts.
type Want struct {
	Importance int
	Group      string
	Rows       int      // the mean estimate of rows that a call matches
	Demand     int      // calls of the kind within the horizon: waiting and recently granted ones
	Common     []int    // the limits of the request that cover all calls; they are shared
	Costs      []int    // how much a call takes of these; nil means 1, and 0 its estimate of rows
	OwnCosts   []int    // how much a call takes of its account's limits, in the order of Wanted.Own
	Calls      []Wanted // in the order of granting
	Expected   Expected // granted after Calls
}

// Wanted is one call of a Want.
type Wanted struct {
	Own  []int // the limits of the request that cover its account
	Rows int   // the estimate of rows that it matches
	from int64 // it is not granted before this moment; 0 for a waiting call
}

// Expected are calls that no caller waits for yet. The first is granted no earlier than After from the request, and
// each further one Every after the one before. No limit of an account and none of rows covers them.
type Expected struct {
	Calls        int
	After, Every int64
}

// Call returns call n of a want. The numbers continue with the expected calls.
func (w Want) Call(n int) Wanted {
	if n < len(w.Calls) {
		return w.Calls[n]
	}
	return Wanted{}
}

// all returns all calls of a want that is requested now.
func (w Want) all(now int64) []Wanted {
	all := slices.Clip(w.Calls)
	for n := range w.Expected.Calls {
		all = append(all, Wanted{from: now + w.Expected.After + int64(n)*w.Expected.Every})
	}
	return all
}

// Request is everything that a process requests at a time, sorted by descending importance.
type Request struct {
	Process string
	Back    bool // the process was without this plan, and others may still be: nothing is granted within the horizon
	Moved   bool // this plan has replaced another that others may still use: nothing is granted within longQuiet
	Limits  []Limit
	Settled []Settled
	Unused  []Unused
	Wants   []Want
}

// Settled reports that calls took more of a limit of rows than was granted. A smaller use is not reported, because
// later calls cannot know whether a window still counts the difference.
type Settled struct {
	Limit int
	More  int
}

// Unused is a granted call that will not be made. Its moments become free again. Limits without moments still count
// the call.
type Unused struct {
	At            int64 // its moment
	Limits, Costs []int
}

// Given is the answer to one Want.
type Given struct {
	Starts []Start
	Rate   float64 // calls per second that the claimant may have, whatever it wants; 0 without a limit
	By     int     // the limit that holds back the first call that was not granted, or None
	Opens  int64   // that call cannot start before this moment, from now on; 0 if all were granted
	Scarce bool    // the claimants of a limit together want more of it than there is
}

// nth returns costs[n], or 1 if there are no costs.
func nth(costs []int, n int) int {
	if costs == nil {
		return 1
	}
	return costs[n]
}

// cost returns nth of costs, or rows if that is 0.
func cost(costs []int, n, rows int) int { return max(1, cmp.Or(nth(costs, n), rows)) }

// Start is a granted call.
type Start struct {
	Call int   // its number in the want
	At   int64 // from now on
}
