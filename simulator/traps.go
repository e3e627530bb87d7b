package simulator

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// trap is a way in which real platforms mislead who takes their answers as they come. The truth is never one.
type trap struct {
	name     string
	what     string
	survived string // what a client that is not misled does, in the words of its screen
	// flows is for what passes only as time goes on: it rests while the world's clock stands still, since nothing would
	// ever come later.
	flows bool
	often int64 // how many of 10,000 queries meet it on a day
}

type trapID int

// traps decides which calls meet a trap, and counts. A query meets one trap a day at most, so that who asks again is
// answered rightly. The seed decides which queries do. A trap that is set by an order springs at the first call that it fits
// beside that, so that all are met in any world. A nil *traps has none.
type traps struct {
	key    key
	frozen func() bool // whether the world's clock stands still

	any atomic.Bool // whether one is on at all: it spares calls the rest
	on  [trapCount]atomic.Bool
	met [trapCount]atomic.Int64

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

func newTraps(seed int64, on bool, frozen func() bool) *traps {
	t := &traps{key: key(seed).sub(1 << 42), frozen: frozen, struck: map[key]strike{}, shut: map[shutKey]closing{}}
	for id := range trapCount {
		t.on[id].Store(on)
	}
	t.any.Store(on)
	return t
}

// turn sets a trap by an order or takes it away, or all for "". It tells whether there is such a one.
func (t *traps) turn(name string, on bool) (known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.struck)
	some := false
	for id := range trapCount {
		if name == "" || trapCatalogue[id].name == name {
			t.on[id].Store(on)
			t.due[id], known = on, true
		}
		some = some || t.on[id].Load()
	}
	t.any.Store(some)
	return known
}

func (t *traps) isOn(id trapID) bool {
	return t != nil && t.any.Load() && t.on[id].Load() && (!trapCatalogue[id].flows || !t.frozen())
}

// meet counts a trap that lies in the world itself.
func (t *traps) meet(id trapID) {
	if t.isOn(id) {
		t.met[id].Add(1)
	}
}

// springs tells whether a call meets a trap that fits it.
func (t *traps) springs(c *call, id trapID) bool {
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
	t.met[id].Add(1)
	c.trapped, c.outcome = true, outcomeInjected
	return true
}

// holds is springs for what a whole query meets, from its first page to its last.
func (t *traps) holds(c *call, id trapID) bool {
	if !t.isOn(id) {
		return false
	}
	if c.isFirstPage() {
		return t.springs(c, id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.struck[c.queryKey()]
	return s.id == id && s.holds && dayOf(c.now) == t.day
}

// queryKey names a call's query, which is the same for all its pages and whenever it is asked.
func (c *call) queryKey() key {
	if c.asked != 0 {
		return c.asked
	}
	k := key(c.p.number)
	add := func(text string) {
		for i := range len(text) {
			k = k.sub(uint64(text[i]))
		}
		k = k.sub(1 << 20)
	}
	add(c.endpoint)
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		switch name {
		case "page", "page_size", "cursor", "count", "access_token", "refresh_token", "timestamp", "nonce":
		default:
			add(name)
			add(c.query.Get(name))
		}
	}
	c.asked = k
	return k
}

func (c *call) isFirstPage() bool {
	first := func(name, usual string) bool { text := c.query.Get(name); return text == "" || text == usual }
	return first("page", "1") && first("cursor", "0")
}

// Trap is a trap as the control API tells it.
type Trap struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Met      int64  `json:"met"` // since the simulator started
	Survived string `json:"survived"`
	On       bool   `json:"on"`
}

func (t *traps) all() []Trap {
	list := make([]Trap, trapCount)
	for id, x := range trapCatalogue {
		list[id] = Trap{Name: x.name, What: x.what, Met: t.met[id].Load(), Survived: x.survived, On: t.on[id].Load()}
	}
	slices.SortFunc(list, func(a, b Trap) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// trapList are the traps that this world has now: of days of 23 or 25 hours it has none but in spring and autumn, and too much for
// one query a giant alone has.
func (s *Simulator) trapList() []Trap {
	missing := map[string]bool{
		trapCatalogue[trapOddDay].name:      !s.world.hasOddDays(dayOf(s.clock.Now().Unix())),
		trapCatalogue[trapBeyondPages].name: s.world.giant <= tencentListMax,
		trapCatalogue[trapRowsOverCap].name: s.world.giant <= tencentRowsMax,
	}
	return slices.DeleteFunc(s.traps.all(), func(t Trap) bool { return missing[t.Name] })
}

func (s *Simulator) serveTraps(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.trapList())
}

// orderTraps sets a trap or takes it away, or all of them if none is named.
func (s *Simulator) orderTraps(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Name string `json:"name"`
		On   *bool  `json:"on"`
	}
	if !readOrder(w, r, &order) {
		return
	}
	if order.On == nil {
		writeProblem(w, http.StatusBadRequest, "on is missing: true or false")
		return
	}
	if !s.traps.turn(order.Name, *order.On) {
		writeProblem(w, http.StatusBadRequest, "there is no trap \""+order.Name+"\": GET /_sim/traps lists them")
		return
	}
	s.serveTraps(w, r)
}
