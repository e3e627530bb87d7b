package platform

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"adsync/simulator/world"
)

// Assumed holds, by platform and name, behaviour that the platforms' documents do not state. The zero value is empty.
type Assumed struct {
	mu     sync.RWMutex
	values map[string]map[string]int64
}

// Add adds a platform's values.
func (x *Assumed) Add(p *world.Spec) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(p.Assumed) > 0 {
		if x.values == nil {
			x.values = map[string]map[string]int64{}
		}
		x.values[p.Name] = maps.Clone(p.Assumed)
	}
}

// All returns a copy of all values.
func (x *Assumed) All() map[string]map[string]int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := map[string]map[string]int64{}
	for media, values := range x.values {
		all[media] = maps.Clone(values)
	}
	return all
}

// Check returns an error for a name that no platform has.
func (x *Assumed) Check(changes map[string]map[string]int64) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for media, values := range changes {
		known := slices.Sorted(maps.Keys(x.values[media]))
		for name := range values {
			if !slices.Contains(known, name) {
				return fmt.Errorf("assumed: %q has no %q, only %v", media, name, known)
			}
		}
	}
	return nil
}

// Set changes values, whose names exist.
func (x *Assumed) Set(changes map[string]map[string]int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for media, values := range changes {
		maps.Copy(x.values[media], values)
	}
}

// Assumed returns a value of the call's platform.
func (c *Call) Assumed(name string) int64 {
	c.Sim.Assumed.mu.RLock()
	defer c.Sim.Assumed.mu.RUnlock()
	return c.Sim.Assumed.values[c.Spec.Name][name]
}

// Refusal returns a failure whose code is an assumed one.
func (c *Call) Refusal(code, format string, args ...any) *Failure {
	return Failf(int(c.Assumed(code)), format, args...)
}

// ZoneSeconds names the assumed offset of times of objects from UTC.
const ZoneSeconds = "zone_seconds"

// Moment returns a time of an object as text.
func (c *Call) Moment(at int64) string {
	return time.Unix(at+c.Assumed(ZoneSeconds), 0).UTC().Format(time.DateTime)
}
