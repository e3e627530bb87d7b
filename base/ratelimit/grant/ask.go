package grant

import (
	"cmp"
	"slices"
)

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

// Start is a granted call.
type Start struct {
	Call int   // of the want's calls
	At   int64 // from now on
}
