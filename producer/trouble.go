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

// troubleAfter is how long a loop of the leader must have failed before readiness tells: what the next turn mends is no
// news.
const troubleAfter = 5 * time.Second

// troubles are the leader's loops that fail.
type troubles struct {
	mu     sync.Mutex
	byLoop map[string]trouble
}

type trouble struct {
	since time.Time // by this process's clock
	err   error     // the newest
}

// set notes what a turn of a loop came to; nil ends the trouble.
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

// clear forgets everything: whoever leads next has troubles of their own.
func (t *troubles) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.byLoop)
}

// problem tells which loops fail, or returns nil.
func (t *troubles) problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for loop, of := range t.byLoop {
		if lasted := clock.Since(of.since); lasted >= troubleAfter {
			errs = append(errs, fmt.Errorf("the leader's work %q fails for %s: %w", loop, lasted.Round(time.Second), of.err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
