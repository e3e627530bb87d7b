package simulator

// silence says which metrics an account's platform does not tell when they are zero. What is not told of a row is not in the truth
// either, where 0 is what the platform has said.
type silence struct {
	about [metricCount]bool
	left  int // how many figures were left out
}

// silence is another one for each account, and most have none. The first of a platform has one, so that any world has it.
func (a *account) silence() (s silence) {
	if !a.traps.isOn(trapZeroUntold) || (a.index > 0 && !a.key.sub(77).chance(25)) {
		return s
	}
	for m := range s.about {
		s.about[m] = a.key.sub(78).sub(uint64(m)).chance(50)
	}
	return s
}

// hides tells whether a figure of a row is not told.
func (s *silence) hides(m metric, f *figures) bool { return f[m] == 0 && s.about[m] }

// leavesOut writes nothing of a figure that is not told: null, an empty text, or no such field at all, in turn.
func (s *silence) leavesOut(w *jsonWriter, field string, m metric, f *figures) bool {
	if !s.hides(m, f) {
		return false
	}
	if how := s.left % 3; how < 2 {
		w.key(field)
		w.raw([...]string{"null", `""`}[how])
	}
	s.left++
	return true
}

// count counts an answer in which something was left out.
func (s *silence) count(c *call) {
	if s.left > 0 {
		c.sim.traps.meet(trapZeroUntold)
	}
}
