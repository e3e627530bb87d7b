package simulator

import (
	"sync"
)

// traps decides which calls meet a trap, and counts. A query meets one trap a day at most, so that who asks again is
// answered rightly. The seed decides which queries do. A trap that is set by an order springs at the first call that it fits
// beside that, so that all are met in any world.
type traps struct {
	*switches
	key key

	mu     sync.Mutex
	due    [trapCount]bool // it has not sprung since it was ordered
	day    int             // of the world
	struck map[key]strike
	shut   map[shutKey]closing
	misled []Misled
}

// strike is what a query has met today.
type strike struct {
	id    trapID
	holds bool // also for the pages that follow the first
}

func newTraps(seed int64, s *switches) *traps {
	return &traps{switches: s, key: key(seed).sub(1 << 42), struck: map[key]strike{}, shut: map[shutKey]closing{}}
}

// turn sets a trap by an order or takes it away, or all for "". It tells whether there is such a one.
func (t *traps) turn(name string, on bool) (known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.struck)
	for _, id := range t.switches.turn(name, on) {
		t.due[id], known = on, true
	}
	return known
}

// Springs tells whether a call meets a trap that fits it.
func (t *traps) Springs(c *call, id trapID) bool {
	if c.trapped || !t.isOn(id) {
		return false
	}
	q := c.queryKey()
	t.mu.Lock()
	defer t.mu.Unlock()
	if today := dayOf(c.now); today != t.day {
		t.day = today
		clear(t.struck)
	}
	if s, had := t.struck[q]; had {
		if s.holds && c.isFirstPage() {
			t.struck[q] = strike{id: s.id}
		}
		return false
	}
	seeded := t.key.sub(uint64(id)).sub(uint64(q)).sub(uint64(t.day))
	if !t.due[id] && seeded.below(10_000) >= trapCatalogue[id].often {
		return false
	}
	t.due[id] = false
	t.struck[q] = strike{id: id, holds: true}
	t.meet(id)
	c.trapped, c.outcome = true, outcomeInjected
	return true
}

// Holds is Springs for what a whole query meets, from its first page to its last.
func (t *traps) Holds(c *call, id trapID) bool {
	if !t.isOn(id) {
		return false
	}
	if c.isFirstPage() {
		return t.Springs(c, id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.struck[c.queryKey()]
	return s.id == id && s.holds && dayOf(c.now) == t.day
}
