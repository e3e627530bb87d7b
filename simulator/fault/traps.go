package fault

import (
	"sync"

	"adsync/simulator/fault/trap"
	"adsync/simulator/ledger"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// Traps decides which calls meet a trap, and counts them. A query meets at most one trap a day, so that a repeated
// query gets the right answer. The seed decides which queries do. A trap that is set by an order also springs at the
// first call that it fits, so that each trap can be met in any world.
type Traps struct {
	*trap.Switches
	key world.Key

	mu     sync.Mutex
	due    [trap.Count]bool // it has not sprung since the order
	day    int              // day of the world
	struck map[world.Key]strike
	shut   map[shutKey]closing
	misled []Misled
}

// strike is the trap that a query has met today.
type strike struct {
	id      trap.ID
	holds   bool  // whether it applies to the pages after the first too
	account int64 // the account whose figures it changes; a query may be of several
}

// NewTraps returns the traps of a world; the switches determine which are on.
func NewTraps(seed int64, s *trap.Switches) *Traps {
	return &Traps{Switches: s, key: world.Key(seed).Sub(1 << 42), struck: map[world.Key]strike{},
		shut: map[shutKey]closing{}}
}

// Set switches a trap on or off by an order, or all for "". known reports whether the trap exists.
func (t *Traps) Set(name string, on bool) (known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.struck)
	for _, id := range t.Switches.Set(name, on) {
		t.due[id], known = on, true
	}
	return known
}

// Springs reports whether a call meets a trap that fits it.
func (t *Traps) Springs(c *platform.Call, id trap.ID) bool {
	if c.Trapped || !t.IsOn(id) {
		return false
	}
	q := c.QueryKey()
	t.mu.Lock()
	defer t.mu.Unlock()
	if today := world.DayOf(c.Now); today != t.day {
		t.day = today
		clear(t.struck)
	}
	if s, had := t.struck[q]; had {
		if s.holds && c.IsFirstPage() {
			t.struck[q] = strike{id: s.id}
		}
		return false
	}
	seeded := t.key.Sub(uint64(id)).Sub(uint64(q)).Sub(uint64(t.day))
	if !t.due[id] && seeded.Below(10_000) >= trap.Catalogue[id].Often {
		return false
	}
	t.due[id] = false
	t.struck[q] = strike{id: id, holds: true}
	t.Meet(id)
	c.Trapped, c.Outcome = true, ledger.Injected
	return true
}

// Holds is Springs for a trap that applies to a whole query, from its first page to its last.
func (t *Traps) Holds(c *platform.Call, id trap.ID) bool {
	if !t.IsOn(id) {
		return false
	}
	if c.IsFirstPage() {
		return t.Springs(c, id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.struck[c.QueryKey()]
	return s.id == id && s.holds && world.DayOf(c.Now) == t.day
}
