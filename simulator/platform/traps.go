package platform

import (
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// PageOf is the bounds of a page by number in a list of n, and says of how many rows in all the answer tells. A trap
// moves one or the other, as rows that come and go while a client reads the pages do.
func (c *Call) PageOf(page, size, n int) (from, to, total int) {
	from, to = PageOf(page, size, n)
	t := c.Sim.Traps
	if from == to || !c.Sim.Switches.Any.Load() {
		return from, to, n
	}
	follows, isLast := page > 1, to == n
	switch {
	case follows && t.Springs(c, trap.PageRowTwice):
		return from - 1, to - 1, n
	case follows && t.Springs(c, trap.PageRowLost):
		return from + 1, min(to+1, n), n
	case follows && t.Springs(c, trap.PageTotalMoved):
		return from, to, n + 1
	case !isLast && t.Springs(c, trap.PageShort):
		return from, to - 1, n
	case !isLast && t.Springs(c, trap.PageEmpty):
		return from, from, n
	}
	return from, to, n
}

// SkipsPage tells whether a page by cursor is empty though there is more: cursor is the place before its first row, and
// given the one that was asked for.
func (c *Call) SkipsPage(from, n int, given, cursor int64) bool {
	return from < n && cursor != given && c.Sim.Traps.Springs(c, trap.PageEmpty)
}

// Told counts the traps of a row that is written, and adds the field that nobody knows.
func (c *Call) Told(w *Writer, a *world.Account, traits []trap.ID) {
	if c.Sim == nil || !c.Sim.Switches.Any.Load() {
		return
	}
	for _, id := range traits {
		c.Sim.Switches.Meet(id)
	}
	// Some accounts have it in all their rows, as one does that is among the first of a platform to be given something
	// new.
	if c.Sim.Switches.IsOn(trap.ExtraField) && (a.Index == 0 || a.Key.Sub(75).Chance(20)) {
		w.Key("trial_run_spec")
		w.Raw(`{"since":2026,"steps":[1,2.5,null],"name":"试运行"}`)
		c.Sim.Switches.Meet(trap.ExtraField)
	}
}

// ToldFile counts the trap of a file that is served.
func (c *Call) ToldFile(x *world.Asset) {
	if x.Created == 0 {
		c.Sim.Switches.Meet(trap.UndatedFile)
	}
}

// IsNumber reports whether a field may come as a text, as numbers do now and then.
func (c *Call) IsNumber(field string) bool { return slices.Contains(c.Spec.NumberFields, field) }

// LeavesOut writes nothing of some files' length: null, an empty text, or no such field at all.
func (c *Call) LeavesOut(w *Writer, field string, x *world.Asset) bool {
	if !slices.Contains(c.Spec.LengthFields, field) || x.Kind != world.AssetVideo || !c.Sim.Switches.IsOn(trap.NullValue) {
		return false
	}
	how := world.Key(x.Created).Sub(76).Below(9)
	if how > 2 {
		return false
	}
	c.Sim.Switches.Meet(trap.NullValue)
	if how < 2 {
		w.Key(field)
		w.Raw([...]string{"null", `""`}[how])
	}
	return true
}

// LeavesOut writes nothing of a figure that is not told: null, an empty text, no such field at all, or a dash, in turn.
func LeavesOut(s *world.Silence, w *Writer, field string, m world.Metric, f *world.Figures) bool {
	if !s.Hides(m, f) {
		return false
	}
	ways := []string{"null", `""`, "", `"-"`}
	if !s.Dashes {
		ways = ways[:3]
	}
	if how := ways[s.Left%len(ways)]; how != "" {
		w.Key(field)
		w.Raw(how)
		if how == `"-"` {
			s.Dashed++
		}
	}
	s.Left++
	return true
}

// CountSilence counts an answer in which something was left out.
func (c *Call) CountSilence(s *world.Silence) {
	if s.Left > 0 {
		c.Sim.Switches.Meet(trap.ZeroUntold)
	}
	if s.Dashed > 0 {
		c.Sim.Switches.Meet(trap.DashValue)
	}
}
