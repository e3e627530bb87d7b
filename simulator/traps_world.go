package simulator

import (
	"slices"
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
	if x.traps == nil || !x.traps.any.Load() {
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

// told counts the traps of a row that is written, and adds the field that nobody knows.
func (c *call) told(w *jsonWriter, a *account, traits []trapID) {
	if c.sim == nil || !c.sim.traps.any.Load() {
		return
	}
	for _, id := range traits {
		c.sim.traps.meet(id)
	}
	// Some accounts have it in all their rows, as one does that is among the first of a platform to be given something new.
	if c.sim.traps.isOn(trapExtraField) && (a.index == 0 || a.key.sub(75).chance(20)) {
		w.key("trial_run_spec")
		w.raw(`{"since":2026,"steps":[1,2.5,null],"name":"试运行"}`)
		c.sim.traps.meet(trapExtraField)
	}
}

// toldFile counts the trap of a file that is served.
func (c *call) toldFile(x *asset) {
	if x.created == 0 {
		c.sim.traps.meet(trapUndatedFile)
	}
}

// isNumber names the fields that may come as texts.
func isNumber(field string) bool {
	return slices.Contains([]string{
		"adgroup_id", "promotion_id", "project_id", "advertiser_id", "account_id", "bid_amount", "daily_budget", "budget", "cpa_bid",
	}, field)
}

// leavesOut writes nothing of some files' length: null, an empty text, or no such field at all.
func (c *call) leavesOut(w *jsonWriter, field string, x *asset) bool {
	if (field != "duration" && field != "image_duration_millisecond") || x.kind != assetVideo || !c.sim.traps.isOn(trapNullValue) {
		return false
	}
	how := key(x.created).sub(76).below(9)
	if how > 2 {
		return false
	}
	c.sim.traps.meet(trapNullValue)
	if how < 2 {
		w.key(field)
		w.raw([...]string{"null", `""`}[how])
	}
	return true
}

// writeVideoMaterial writes the material of a promotion's video, which the platform does not tell of some: it is 0 or absent
// (document 1741028841006095). The library tells it.
func (x promotion) writeVideoMaterial(w *jsonWriter, material int64) {
	how := key(material).sub(95).below(6)
	if how > 1 || !x.traps.isOn(trapNullValue) {
		w.numberField("material_id", material)
		return
	}
	x.traps.meet(trapNullValue)
	if how == 0 {
		w.numberField("material_id", 0)
	}
}
