package world

import (
	"adsync/simulator/fault/trap"
)

// Silence says which metrics an account's platform does not tell when they are zero. What is not told of a row is not
// in the truth either, where 0 is what the platform has said.
type Silence struct {
	about  [metricCount]bool
	Dashes bool // the text - is one of the ways
	Left   int  // how many figures were left out
	Dashed int  // of them, those that were a dash
}

// Silence is another one for each account, and most have none. The first of a platform has one, so that any world has
// it.
func (a *Account) Silence() (s Silence) {
	untold := a.traps.IsOn(trap.ZeroUntold)
	s.Dashes = a.traps.IsOn(trap.DashValue)
	if !untold && !s.Dashes || (a.Index > 0 && !a.Key.Sub(77).Chance(25)) {
		return s
	}
	for m := range s.about {
		s.about[m] = a.Key.Sub(78).Sub(uint64(m)).Chance(50)
	}
	return s
}

// Hides tells whether a figure of a row is not told.
func (s *Silence) Hides(m Metric, f *Figures) bool { return f[m] == 0 && s.about[m] }
