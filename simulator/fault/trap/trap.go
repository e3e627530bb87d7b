package trap

import (
	"slices"
	"strings"
	"sync/atomic"
)

// trap is a way in which real platforms mislead clients that trust their answers. The truth never has traps.
type trap struct {
	Name     string
	what     string
	survived string // what a client that is not misled does, as its screen shows it
	// flows marks traps that only time ends: they are off while the world's clock is frozen, as they would never end.
	flows bool
	Often int64 // how many of 10,000 queries meet it per day
}

// ID identifies a trap by its index in the catalogue.
type ID int

// CutCharacter is in the truth where a name was cut inside a character, whose rest is unreadable.
const CutCharacter = "\uFFFD"

// Switches holds which traps are on, and counts how often each was met. A nil Switches has no traps.
type Switches struct {
	Frozen func() bool // reports whether the world's clock is frozen

	Any atomic.Bool // whether any trap is on, so that calls can skip the rest
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

// Set switches a trap on or off, or all for "". It returns the switched traps, none if the name is unknown.
func (t *Switches) Set(name string, on bool) (turned []ID) {
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

// IsAny reports whether any trap is on.
func (t *Switches) IsAny() bool { return t != nil && t.Any.Load() }

// IsOn reports whether a trap can be met now.
func (t *Switches) IsOn(id ID) bool {
	return t.IsAny() && t.on[id].Load() && (!Catalogue[id].flows || !t.Frozen())
}

// Meet counts a met trap, if it is on.
func (t *Switches) Meet(id ID) {
	if t.IsOn(id) {
		t.met[id].Add(1)
	}
}

// Trap is a trap in the control API.
type Trap struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Met      int64  `json:"met"` // count since the simulator started
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
