package platform

import (
	"bytes"
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// PageOf returns the bounds of a numbered page in a list of n, and the total for the answer. A trap changes one of
// them, as if rows were added or removed while a client reads the pages.
func (c *Call) PageOf(page, size, n int) (from, to, total int) {
	from, to = c.PageWithoutTotal(page, size, n)
	if page > 1 && from < to && c.Sim.Traps.Springs(c, trap.PageTotalMoved) {
		return from, to, n + 1
	}
	return from, to, n
}

// PageWithoutTotal is PageOf for a list whose answers have no total.
func (c *Call) PageWithoutTotal(page, size, n int) (from, to int) {
	from, to = PageOf(page, size, n)
	t := c.Sim.Traps
	if from == to || !c.Sim.Switches.Any.Load() {
		return from, to
	}
	follows, isLast := page > 1, to == n
	switch {
	case follows && t.Springs(c, trap.PageRowTwice):
		return from - 1, to - 1
	case follows && t.Springs(c, trap.PageRowLost):
		return from + 1, min(to+1, n)
	case !isLast && t.Springs(c, trap.PageShort):
		return from, to - 1
	case !isLast && t.Springs(c, trap.PageEmpty):
		return from, from
	}
	return from, to
}

// SkipsPage reports whether a page by cursor is empty although more rows follow: cursor is the position before its
// first row, and given the requested one.
func (c *Call) SkipsPage(from, n int, given, cursor int64) bool {
	return from < n && cursor != given && c.Sim.Traps.Springs(c, trap.PageEmpty)
}

// CountTraits counts the traps of a written row, and adds the unknown field.
func (c *Call) CountTraits(w *Writer, a *world.Account, traits []trap.ID) {
	if c.Sim == nil || !c.Sim.Switches.Any.Load() {
		return
	}
	for _, id := range traits {
		c.Sim.Switches.Meet(id)
	}
	// Some accounts have the field in all their rows, like accounts that get a platform's new feature first.
	if c.Sim.Switches.IsOn(trap.ExtraField) && (a.Index == 0 || a.Key.Sub(75).Chance(20)) {
		w.Key("trial_run_spec")
		w.Raw(`{"since":2026,"steps":[1,2.5,null],"name":"试运行"}`)
		c.Sim.Switches.Meet(trap.ExtraField)
	}
}

// CountFile counts the trap of a served file.
func (c *Call) CountFile(x *world.Asset) {
	if x.Created == 0 {
		c.Sim.Switches.Meet(trap.UndatedFile)
	}
}

// IsNumber reports whether a field is a number that may be served as a text.
func (c *Call) IsNumber(field string) bool { return slices.Contains(c.Spec.NumberFields, field) }

// LeavesOut omits the length of some files: it writes null, an empty text, or no field.
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

// LeavesOut writes an omitted figure: in turn null, an empty text, no field, or a dash.
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

// LeavesOutText returns the text of an omitted figure in a file: an empty one, or a dash.
func LeavesOutText(s *world.Silence, m world.Metric, f *world.Figures) (text string, left bool) {
	var w Writer
	left = LeavesOut(s, &w, "", m, f)
	if bytes.HasSuffix(w.Bytes, []byte(`"-"`)) {
		text = "-"
	}
	return text, left
}

// CountSilence counts an answer with omitted figures.
func (c *Call) CountSilence(s *world.Silence) {
	if s.Left > 0 {
		c.Sim.Switches.Meet(trap.ZeroUntold)
	}
	if s.Dashed > 0 {
		c.Sim.Switches.Meet(trap.DashValue)
	}
}
