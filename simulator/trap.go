package simulator

import (
	"slices"
	"strings"
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

// cutCharacter stands in the truth where a name was cut inside a character: what is left of it cannot be read.
const cutCharacter = "\uFFFD"

// switches holds which traps are on, and counts how often each was met. A nil one has none.
type switches struct {
	frozen func() bool // whether the world's clock stands still

	any atomic.Bool // whether one is on at all: it spares calls the rest
	on  [trapCount]atomic.Bool
	met [trapCount]atomic.Int64
}

// newSwitches returns the switches with all traps on, or off.
func newSwitches(on bool, frozen func() bool) *switches {
	t := &switches{frozen: frozen}
	for id := range trapCount {
		t.on[id].Store(on)
	}
	t.any.Store(on)
	return t
}

// turn switches a trap on or off, or all for "". It returns those that it switched: none if the name is unknown.
func (t *switches) turn(name string, on bool) (turned []trapID) {
	some := false
	for id := range trapCount {
		if name == "" || trapCatalogue[id].name == name {
			t.on[id].Store(on)
			turned = append(turned, id)
		}
		some = some || t.on[id].Load()
	}
	t.any.Store(some)
	return turned
}

// isAny reports whether a trap is on at all.
func (t *switches) isAny() bool { return t != nil && t.any.Load() }

// isOn reports whether a trap can be met now.
func (t *switches) isOn(id trapID) bool {
	return t.isAny() && t.on[id].Load() && (!trapCatalogue[id].flows || !t.frozen())
}

// meet counts a trap that was met, if it is on.
func (t *switches) meet(id trapID) {
	if t.isOn(id) {
		t.met[id].Add(1)
	}
}

// Trap is a trap as the control API tells it.
type Trap struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Met      int64  `json:"met"` // since the simulator started
	Survived string `json:"survived"`
	On       bool   `json:"on"`
}

// all lists the traps by name.
func (t *switches) all() []Trap {
	list := make([]Trap, trapCount)
	for id, x := range trapCatalogue {
		list[id] = Trap{Name: x.name, What: x.what, Met: t.met[id].Load(), Survived: x.survived, On: t.on[id].Load()}
	}
	slices.SortFunc(list, func(a, b Trap) int { return strings.Compare(a.Name, b.Name) })
	return list
}
