package producer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/clock"
)

// troubleAfter is how long a loop of the leader must have failed before readiness reports it: a failure that the next
// pass fixes is not reported.
const troubleAfter = 5 * time.Second

// troubles holds the failing loops of the leader.
type troubles struct {
	mu     sync.Mutex
	byLoop map[string]trouble
}

type trouble struct {
	since time.Time // by this process's clock
	err   error     // the newest
}

// set records the result of a loop's pass; nil ends the trouble.
func (t *troubles) set(loop string, err error) {
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

// clear removes all troubles at the end of a lead.
func (t *troubles) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.byLoop)
}

// problem returns which loops fail, or nil.
func (t *troubles) problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for loop, of := range t.byLoop {
		if lasted := clock.Since(of.since); lasted >= troubleAfter {
			errs = append(errs, fmt.Errorf("the leader's loop %q has failed for %s: %w", loop, lasted.Round(time.Second),
				of.err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
