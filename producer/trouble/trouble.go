// Package trouble holds which loops of the leader fail, for its readiness.
package trouble

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/clock"
)

// After is how long a loop of the leader must have failed before readiness reports it: a failure that the next pass
// fixes is not reported.
const After = 5 * time.Second

// Loops holds the failing loops of the leader. The zero value is ready, and safe for concurrent use.
type Loops struct {
	mu     sync.Mutex
	byLoop map[string]trouble
}

type trouble struct {
	since time.Time // by this process's clock
	err   error     // the newest
}

// Set records the result of a loop's pass; nil ends the trouble.
func (t *Loops) Set(loop string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.byLoop, loop)
		return
	}
	since := clock.Mark()
	if had, failing := t.byLoop[loop]; failing {
		since = had.since
	}
	if t.byLoop == nil {
		t.byLoop = map[string]trouble{}
	}
	t.byLoop[loop] = trouble{since: since, err: err}
}

// Clear removes all troubles at the end of a lead.
func (t *Loops) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.byLoop)
}

// Problem returns which loops fail, in the order of their names, or nil.
func (t *Loops) Problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for loop, of := range t.byLoop {
		if lasted := clock.Since(of.since); lasted >= After {
			errs = append(errs, fmt.Errorf("the leader's loop %q has failed for %s: %w", loop, lasted.Round(time.Second),
				of.err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// Failing returns the names of the loops whose last pass failed, sorted.
func (t *Loops) Failing() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.byLoop))
}
