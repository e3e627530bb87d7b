package quota

import (
	"time"
)

// Simulate plays a scenario in virtual time. The same seed gives the same figures.
func Simulate(s Scenario, seed uint64, spread time.Duration) Figures {
	return s.Play(NewSimulation(seed, s.Rules(), spread, s.Members), spread)
}
