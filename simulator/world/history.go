package world

import (
	"cmp"
	"slices"
)

// Kind is the kind of an object in the history of an account.
type Kind uint8

// The kinds.
const (
	KindProject Kind = iota
	KindAd
	KindCreative
)

// State is what the history of an object shows. Money is in fen.
type State struct {
	Name        string
	Status      Status
	Budget, Bid int64
}

// Change is a creation, a change or a deletion of an object.
type Change struct {
	At      int64
	Kind    Kind
	Packed  bool // of a creative of a package
	Object  int64
	Was, Is State // equal for a creation
	IsNew   bool
}

// History lists what changed in an account's configuration since a moment, the newest first. It has no ordered edits.
// An object's states are found backwards, from each change to the one before.
func (a *Account) History(now, since int64) (list []Change) {
	add := func(x Change, created int64, at func(moment int64) (s State, changed int64)) {
		for moment := now; ; moment = x.At - 1 {
			x.Is, x.At = at(moment)
			if x.At < since || x.At <= created {
				break
			}
			x.Was, _ = at(x.At - 1)
			if x.Is != x.Was {
				list = append(list, x)
			}
		}
		if x.IsNew, x.At = true, created; created >= since {
			x.Is, _ = at(created)
			x.Was = x.Is
			list = append(list, x)
		}
	}
	for i, x := range a.Projects(now) {
		add(Change{Kind: KindProject, Object: x.ID}, x.Created, func(moment int64) (State, int64) {
			x := a.Projects(moment)[i]
			return State{Name: x.Name, Budget: x.Budget}, x.Modified
		})
	}
	a.Ads(now, true, func(x Ad) {
		add(Change{Kind: KindAd, Object: x.ID}, x.Created, func(moment int64) (State, int64) {
			o := x.At(moment)
			return State{o.Name, o.Status, o.Budget, o.Bid}, o.Changed
		})
		x.EachCreative(a, now, func(c Creative) {
			add(Change{Kind: KindCreative, Packed: x.Packed, Object: c.ID}, c.Created, func(moment int64) (State, int64) {
				o := c.At(moment)
				return State{Name: o.Name, Status: o.Status}, o.Modified
			})
		})
	})
	slices.SortStableFunc(list, func(x, y Change) int {
		return cmp.Or(cmp.Compare(y.At, x.At), cmp.Compare(x.Object, y.Object))
	})
	return list
}
