package world

import (
	"adsync/simulator/fault/trap"
)

// Silence holds the metrics that an account's platform omits when they are zero. Omitted figures of a row are not in
// the truth either, where 0 is a reported figure.
type Silence struct {
	about  [metricCount]bool
	Dashes bool // the text - is one way to omit a figure
	Left   int  // how many figures were left out
	Dashed int  // of them, how many were a dash
}

// Silence returns the account's Silence. It differs by account, and most accounts have none. The first account of a
// platform has one, so that each world has it.
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

// Hides reports whether a figure of a row is omitted.
func (s *Silence) Hides(m Metric, f *Figures) bool { return f[m] == 0 && s.about[m] }
