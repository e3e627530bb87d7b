package trap

import (
	"slices"
	"strings"
	"sync/atomic"
)

// trap is a way in which real platforms mislead who takes their answers as they come. The truth is never one.
type trap struct {
	Name     string
	what     string
	survived string // what a client that is not misled does, in the words of its screen
	// flows is for what passes only as time goes on: it rests while the world's clock stands still, since nothing would
	// ever come later.
	flows bool
	Often int64 // how many of 10,000 queries meet it on a day
}

// ID is a trap, as a place in the catalogue.
type ID int

// CutCharacter stands in the truth where a name was cut inside a character: what is left of it cannot be read.
const CutCharacter = "\uFFFD"

// Switches holds which traps are on, and counts how often each was met. A nil one has none.
type Switches struct {
	Frozen func() bool // whether the world's clock stands still

	Any atomic.Bool // whether one is on at all: it spares calls the rest
	on  [Count]atomic.Bool
	met [Count]atomic.Int64
}

// NewSwitches returns the switches with all traps on, or off.
func NewSwitches(on bool, frozen func() bool) *Switches {
	t := &Switches{Frozen: frozen}
	for id := range Count {
		t.on[id].Store(on)
	}
	t.Any.Store(on)
	return t
}

// Turn switches a trap on or off, or all for "". It returns those that it switched: none if the name is unknown.
func (t *Switches) Turn(name string, on bool) (turned []ID) {
	some := false
	for id := range Count {
		if name == "" || Catalogue[id].Name == name {
			t.on[id].Store(on)
			turned = append(turned, id)
		}
		some = some || t.on[id].Load()
	}
	t.Any.Store(some)
	return turned
}

// IsAny reports whether a trap is on at all.
func (t *Switches) IsAny() bool { return t != nil && t.Any.Load() }

// IsOn reports whether a trap can be met now.
func (t *Switches) IsOn(id ID) bool {
	return t.IsAny() && t.on[id].Load() && (!Catalogue[id].flows || !t.Frozen())
}

// Meet counts a trap that was met, if it is on.
func (t *Switches) Meet(id ID) {
	if t.IsOn(id) {
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

// All lists the traps by name.
func (t *Switches) All() []Trap {
	list := make([]Trap, Count)
	for id, x := range Catalogue {
		list[id] = Trap{Name: x.Name, What: x.what, Met: t.met[id].Load(), Survived: x.survived, On: t.on[id].Load()}
	}
	slices.SortFunc(list, func(a, b Trap) int { return strings.Compare(a.Name, b.Name) })
	return list
}
