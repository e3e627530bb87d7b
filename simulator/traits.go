package simulator

import (
	"strings"
)

// adTraps are those that lie in the world's ads: how many of a hundred are one, and which of its keys says so. What the truth
// tells of such an ad is what is served.
var adTraps = map[trapID]struct {
	child   uint64
	percent int64
}{
	trapEmojiName:       {70, 8},
	trapNameCut:         {79, 8},
	trapNameReused:      {71, 12},
	trapStatusUnstamped: {72, 12},
	trapTwoEdits:        {73, 10},
	trapUnknownWord:     {74, 6},
}

// falls tells whether the ad is one of those that a trap lies in.
func (x *ad) falls(id trapID) bool {
	return x.traps.isOn(id) && x.key.sub(adTraps[id].child).chance(adTraps[id].percent)
}

// traits lists the traps that a client meets who is told of an ad.
func (x *ad) traits(o *object, moment int64) (list []trapID) {
	if !x.traps.isAny() {
		return nil
	}
	add := func(id trapID, met bool) {
		if met {
			list = append(list, id)
		}
	}
	version, _ := x.edits(20, 15, 90).version(x.created, moment)
	budgets, _ := x.edits(21, 4, 40).version(x.created, moment)
	_, switched := x.statusAt(moment)
	add(trapRenamed, version > 0)
	add(trapEmojiName, (version > 0 || x.inherits == "") && x.falls(trapEmojiName))
	add(trapNameCut, strings.Contains(o.name, cutCharacter))
	add(trapNameReused, version == 0 && x.inherits != "")
	add(trapTwoEdits, budgets > 0 && x.falls(trapTwoEdits))
	add(trapStatusUnstamped, switched > o.modified && x.falls(trapStatusUnstamped))
	add(trapUnknownWord, o.status == statusActive && x.falls(trapUnknownWord))
	return list
}
