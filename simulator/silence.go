package simulator

// silence says which metrics an account's platform does not tell when they are zero. What is not told of a row is not in the truth
// either, where 0 is what the platform has said.
type silence struct {
	about  [metricCount]bool
	dashes bool // the text - is one of the ways
	left   int  // how many figures were left out
	dashed int  // of them, those that were a dash
}

// silence is another one for each account, and most have none. The first of a platform has one, so that any world has it.
func (a *account) silence() (s silence) {
	untold := a.traps.isOn(trapZeroUntold)
	s.dashes = a.traps.isOn(trapDashValue)
	if !untold && !s.dashes || (a.index > 0 && !a.key.sub(77).chance(25)) {
		return s
	}
	for m := range s.about {
		s.about[m] = a.key.sub(78).sub(uint64(m)).chance(50)
	}
	return s
}

// hides tells whether a figure of a row is not told.
func (s *silence) hides(m metric, f *figures) bool { return f[m] == 0 && s.about[m] }
