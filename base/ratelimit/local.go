package ratelimit

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"adsync/base/clock"
)

// ownHorizon is how far ahead this process grants its own calls: twice as far as it asks again, which it can do as often as it likes.
const ownHorizon = 200_000

// longAgo is before every moment of a ledger of this process.
const longAgo = -int64(PeriodMax / time.Microsecond)

// local keeps the book in this process's memory: for a deployment of one process, and for each of several processes while the common
// ledger is away.
type local struct {
	spread time.Duration
	clock  func() time.Time
	born   time.Time

	mu      sync.Mutex
	members int
	plan    plan
	pauses  map[Key]time.Time
	paused  int // how often pauses were ordered
}

var _ ledger = (*local)(nil)

// newLocal returns the ledger of one of so many members, which share each limit evenly, with the arrival spread of Config.
func newLocal(spread time.Duration, members int) *local {
	return newLocalBy(clock.Mark, spread, members)
}

// newLocalBy returns one by another clock.
func newLocalBy(now func() time.Time, spread time.Duration, members int) *local {
	return &local{spread: spread, members: max(1, members), clock: now, born: now(), plan: plan{horizon: ownHorizon, from: longAgo, books: map[Key]*book{}}, pauses: map[Key]time.Time{}}
}

func (l *local) now() int64 { return l.clock().Sub(l.born).Microseconds() }

func (l *local) ask(ctx context.Context, media string, a ask) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, fmt.Errorf("ask for calls of %s: %w", media, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.clock()
	a.unused = nil // That was of another ledger's: this one gives no moments that could be handed back.
	for i, x := range a.limits {
		a.limits[i] = x.of(l.spread, l.members)
	}
	maps.DeleteFunc(l.pauses, func(_ Key, until time.Time) bool { return !until.After(at) })
	return answer{asked: at, answered: at, horizon: microseconds(ownHorizon / 2), wants: l.plan.answer(l.now(), a), pauses: maps.Clone(l.pauses)}, nil
}

func (l *local) pause(ctx context.Context, point Key, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pause %s: %w", point, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused++
	until := l.clock().Add(min(d, PauseMax))
	switch {
	case d <= 0:
		delete(l.pauses, point)
	case l.pauses[point].Before(until):
		l.pauses[point] = until
	}
	return nil
}

// listen implements ledger: nobody else orders pauses.
func (l *local) listen(ctx context.Context, _ string, _ func(Key, time.Duration), _ func(error)) {
	<-ctx.Done()
}

// divide has each limit be shared by so many.
func (l *local) divide(members int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = members
}

// parts is how many share each limit.
func (l *local) parts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members
}

// spend begins the book anew: for so long nothing is granted, since another ledger may have granted it.
func (l *local) spend(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = plan{horizon: ownHorizon, from: l.now() + d.Microseconds(), books: map[Key]*book{}}
}

// pausings is how often pauses were ordered.
func (l *local) pausings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// sync notes a media's pauses as another ledger has told of them. If no pause was ordered here since there had been so many, there are no others.
func (l *local) sync(media string, pauses map[Key]time.Time, pausings int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pausings == l.paused {
		maps.DeleteFunc(l.pauses, func(point Key, _ time.Time) bool { return point.Media == media })
	}
	maps.Copy(l.pauses, pauses)
}

// inForce returns the pauses in force and how long each still lasts.
func (l *local) inForce() map[Key]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[Key]time.Duration{}
	for point, until := range l.pauses {
		if left := until.Sub(l.clock()); left > 0 {
			out[point] = left
		}
	}
	return out
}
