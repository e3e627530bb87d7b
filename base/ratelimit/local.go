package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"adsync/base/clock"
)

// Local grants calls from a ledger in this process's memory: for tests, for a deployment of one process, and for each of
// several processes while the common ledger is away.
type Local struct {
	spread  time.Duration
	members int
	born    time.Time

	mu    sync.Mutex
	ready map[Key]int64 // per Key.id, in microseconds since born; see grant
	// spentAt is the moment from which limits without an entry count as used up; negative means they are untouched.
	spentAt int64
	sweepAt int // the size of ready at which entries that no longer matter are dropped
}

var _ Limiter = (*Local)(nil)

// sweepMin keeps small ledgers from being swept at all.
const sweepMin = 1024

// NewLocal returns a limiter for one of so many members, which share each limit evenly, with the arrival spread of
// Config.
func NewLocal(spread time.Duration, members int) *Local {
	return &Local{spread: spread, members: max(1, members), born: clock.Mark(), ready: map[Key]int64{}, spentAt: -1, sweepAt: sweepMin}
}

// Take implements Limiter.
func (l *Local) Take(ctx context.Context, keys []Key, n int) (Grant, error) {
	if err := ctx.Err(); err != nil {
		return Grant{}, fmt.Errorf("take %d calls: %w", n, err)
	}
	if !sameMedia(keys) {
		return Grant{}, errMixedMedia
	}
	if len(keys) == 0 || n <= 0 {
		return grantAll(n, l.spread), nil
	}
	asked := clock.Mark()
	l.mu.Lock()
	defer l.mu.Unlock()

	now := asked.Sub(l.born).Microseconds()
	ready := make([]int64, len(keys))
	paces := make([]pace, len(keys))
	for i, k := range keys {
		paces[i] = paceOf(k, l.spread, l.members)
		at, known := l.ready[k.id()]
		if !known && l.spentAt >= 0 && paces[i].every > 0 {
			at = l.spentAt + paces[i].tolerance + paces[i].every
		}
		ready[i] = at
	}
	delays, retry, by := grant(now, ready, paces, min(n, TakeMax))
	if len(delays) > 0 {
		for i, k := range keys {
			if paces[i].every > 0 {
				l.ready[k.id()] = ready[i]
			}
		}
		l.sweep(now)
	}
	return newGrant(asked, delays, retry, by, keys, l.spread), nil
}

// Pause implements Limiter.
func (l *Local) Pause(ctx context.Context, key Key, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pause %s: %w", key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Since(l.born).Microseconds()
	id := key.id()
	switch {
	case d <= 0:
		delete(l.ready, id)
	case l.ready[id] < now+min(d, PauseMax).Microseconds():
		l.ready[id] = now + min(d, PauseMax).Microseconds()
	}
	return nil
}

// Spend makes every limit count as used up at this moment, so that what other ledgers granted within the running
// windows is not granted again. Pauses stay.
func (l *Local) Spend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spentAt = clock.Since(l.born).Microseconds()
	for id := range l.ready {
		if id.Period > 0 {
			delete(l.ready, id)
		}
	}
}

// pauses returns the pauses in force and how long each still lasts.
func (l *Local) pauses() map[Key]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Since(l.born).Microseconds()
	out := map[Key]time.Duration{}
	for id, until := range l.ready {
		if id.Period == 0 && until > now {
			out[id] = microseconds(until - now)
		}
	}
	return out
}

// sweep drops what lies in the past, at a cost that is spread over the takes which made the ledger grow.
func (l *Local) sweep(now int64) {
	if len(l.ready) < l.sweepAt {
		return
	}
	// The moment of Spend speaks for entries that are gone, and by now for less than they did.
	for id, at := range l.ready {
		if at <= now {
			delete(l.ready, id)
		}
	}
	l.sweepAt = max(sweepMin, 2*len(l.ready))
}

// newGrant says in the words of Limiter what was decided in microseconds. by is an index into keys, or negative.
func newGrant(asked time.Time, delays []int64, retry int64, by int, keys []Key, spread time.Duration) Grant {
	g := Grant{N: len(delays), Delays: make([]time.Duration, len(delays)), RetryAfter: microseconds(retry)}
	last := time.Duration(0)
	for i, d := range delays {
		g.Delays[i] = microseconds(d)
		last = g.Delays[i]
	}
	g.Until = asked.Add(last + spread)
	if by >= 0 {
		g.By = keys[by]
	}
	return g
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
