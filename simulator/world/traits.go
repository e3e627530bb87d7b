package world

import (
	"strings"

	"adsync/simulator/fault/trap"
)

// adTraps are the traps in the world's ads: how many of a hundred ads have one, and which of an ad's keys decides it.
// For such an ad the truth equals the served data.
var adTraps = map[trap.ID]struct {
	child   uint64
	percent int64
}{
	trap.EmojiName:       {70, 8},
	trap.NameCut:         {79, 8},
	trap.NameReused:      {71, 12},
	trap.StatusUnstamped: {72, 12},
	trap.TwoEdits:        {73, 10},
	trap.UnknownWord:     {74, 6},
}

// Falls reports whether the ad has a trap.
func (x *Ad) Falls(id trap.ID) bool {
	return x.Traps.IsOn(id) && x.key.Sub(adTraps[id].child).Chance(adTraps[id].percent)
}

// traits lists the traps that a client meets in an ad.
func (x *Ad) traits(o *Object, moment int64) (list []trap.ID) {
	if !x.Traps.IsAny() {
		return nil
	}
	add := func(id trap.ID, met bool) {
		if met {
			list = append(list, id)
		}
	}
	version, _ := x.Edits(20, 15, 90).Version(x.Created, moment)
	budgets, _ := x.Edits(21, 4, 40).Version(x.Created, moment)
	_, switched := x.StatusAt(moment)
	add(trap.Renamed, version > 0)
	add(trap.EmojiName, (version > 0 || x.inherits == "") && x.Falls(trap.EmojiName))
	add(trap.NameCut, strings.Contains(o.Name, trap.CutCharacter))
	add(trap.NameReused, version == 0 && x.inherits != "")
	add(trap.TwoEdits, budgets > 0 && x.Falls(trap.TwoEdits))
	add(trap.StatusUnstamped, switched > o.Modified && x.Falls(trap.StatusUnstamped))
	add(trap.UnknownWord, o.Status == StatusActive && x.Falls(trap.UnknownWord))
	return list
}
