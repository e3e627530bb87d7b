package world

import (
	"strings"

	"adsync/simulator/fault/trap"
)

// adTraps are those that lie in the world's ads: how many of a hundred are one, and which of its keys says so. What the truth
// tells of such an ad is what is served.
var adTraps = map[trap.ID]struct {
	child   uint64
	percent int64
}{
	trap.TrapEmojiName:       {70, 8},
	trap.TrapNameCut:         {79, 8},
	trap.TrapNameReused:      {71, 12},
	trap.TrapStatusUnstamped: {72, 12},
	trap.TrapTwoEdits:        {73, 10},
	trap.TrapUnknownWord:     {74, 6},
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
	add(trap.TrapRenamed, version > 0)
	add(trap.TrapEmojiName, (version > 0 || x.inherits == "") && x.Falls(trap.TrapEmojiName))
	add(trap.TrapNameCut, strings.Contains(o.Name, trap.CutCharacter))
	add(trap.TrapNameReused, version == 0 && x.inherits != "")
	add(trap.TrapTwoEdits, budgets > 0 && x.Falls(trap.TrapTwoEdits))
	add(trap.TrapStatusUnstamped, switched > o.Modified && x.Falls(trap.TrapStatusUnstamped))
	add(trap.TrapUnknownWord, o.Status == StatusActive && x.Falls(trap.TrapUnknownWord))
	return list
}
