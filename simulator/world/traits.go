package world

import (
	"strings"

	"adsync/simulator/fault/trap"
)

// adTraps are those that lie in the world's ads: how many of a hundred are one, and which of its keys says so. What
// the truth tells of such an ad is what is served.
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

// Falls tells whether the ad is one of those that a trap lies in.
func (x *Ad) Falls(id trap.ID) bool {
	return x.Traps.IsOn(id) && x.key.Sub(adTraps[id].child).Chance(adTraps[id].percent)
}

// traits lists the traps that a client meets who is told of an ad.
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
