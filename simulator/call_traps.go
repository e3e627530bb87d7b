package simulator

import "slices"

// pageOf is the bounds of a page by number in a list of n, and says of how many rows in all the answer tells. A trap moves one
// or the other, as rows that come and go while a client reads the pages do.
func (c *call) pageOf(page, size, n int) (from, to, total int) {
	from, to = pageOf(page, size, n)
	t := c.sim.traps
	if from == to || !c.sim.switches.any.Load() {
		return from, to, n
	}
	follows, isLast := page > 1, to == n
	switch {
	case follows && t.Springs(c, trapPageRowTwice):
		return from - 1, to - 1, n
	case follows && t.Springs(c, trapPageRowLost):
		return from + 1, min(to+1, n), n
	case follows && t.Springs(c, trapPageTotalMoved):
		return from, to, n + 1
	case !isLast && t.Springs(c, trapPageShort):
		return from, to - 1, n
	case !isLast && t.Springs(c, trapPageEmpty):
		return from, from, n
	}
	return from, to, n
}

// skipsPage tells whether a page by cursor is empty though there is more: cursor is the place before its first row, and
// given the one that was asked for.
func (c *call) skipsPage(from, n int, given, cursor int64) bool {
	return from < n && cursor != given && c.sim.traps.Springs(c, trapPageEmpty)
}

// told counts the traps of a row that is written, and adds the field that nobody knows.
func (c *call) told(w *jsonWriter, a *account, traits []trapID) {
	if c.sim == nil || !c.sim.switches.any.Load() {
		return
	}
	for _, id := range traits {
		c.sim.switches.meet(id)
	}
	// Some accounts have it in all their rows, as one does that is among the first of a platform to be given something new.
	if c.sim.switches.isOn(trapExtraField) && (a.index == 0 || a.key.sub(75).chance(20)) {
		w.key("trial_run_spec")
		w.raw(`{"since":2026,"steps":[1,2.5,null],"name":"试运行"}`)
		c.sim.switches.meet(trapExtraField)
	}
}

// toldFile counts the trap of a file that is served.
func (c *call) toldFile(x *asset) {
	if x.created == 0 {
		c.sim.switches.meet(trapUndatedFile)
	}
}

// isNumber reports whether a field may come as a text, as numbers do now and then.
func (c *call) isNumber(field string) bool { return slices.Contains(c.p.numberFields, field) }

// leavesOut writes nothing of some files' length: null, an empty text, or no such field at all.
func (c *call) leavesOut(w *jsonWriter, field string, x *asset) bool {
	if !slices.Contains(c.p.lengthFields, field) || x.kind != assetVideo || !c.sim.switches.isOn(trapNullValue) {
		return false
	}
	how := key(x.created).sub(76).below(9)
	if how > 2 {
		return false
	}
	c.sim.switches.meet(trapNullValue)
	if how < 2 {
		w.key(field)
		w.raw([...]string{"null", `""`}[how])
	}
	return true
}

// leavesOut writes nothing of a figure that is not told: null, an empty text, no such field at all, or a dash, in turn.
func leavesOut(s *silence, w *jsonWriter, field string, m metric, f *figures) bool {
	if !s.hides(m, f) {
		return false
	}
	ways := []string{"null", `""`, "", `"-"`}
	if !s.dashes {
		ways = ways[:3]
	}
	if how := ways[s.left%len(ways)]; how != "" {
		w.key(field)
		w.raw(how)
		if how == `"-"` {
			s.dashed++
		}
	}
	s.left++
	return true
}

// count counts an answer in which something was left out.
func (c *call) countSilence(s *silence) {
	if s.left > 0 {
		c.sim.switches.meet(trapZeroUntold)
	}
	if s.dashed > 0 {
		c.sim.switches.meet(trapDashValue)
	}
}
