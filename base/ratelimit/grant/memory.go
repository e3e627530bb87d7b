package grant

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"adsync/base/clock"
)

// OwnHorizon is how far ahead this process grants its own calls. It is twice the time between two requests, which
// cost nothing here.
const OwnHorizon = 200_000

// longAgo is before every moment of a process's own ledger.
const longAgo = -int64(PeriodMax / time.Microsecond)

// Memory is a Ledger in this process's memory. It serves a deployment of one process, and each of several processes
// while the common ledger is away.
type Memory struct {
	spread time.Duration
	Clock  func() time.Time
	born   time.Time

	mu      sync.Mutex
	Members int
	plan    Plan
	pauses  map[Key]time.Time
	paused  int // the number of pauses that were ordered
}

var _ Ledger = (*Memory)(nil)

// NewMemory returns the ledger of one of several members that share each limit evenly, with the arrival spread of
// Config.
func NewMemory(spread time.Duration, members int) *Memory {
	return NewMemoryBy(clock.Mark, spread, members)
}

// NewMemoryBy returns a Memory on another clock.
func NewMemoryBy(now func() time.Time, spread time.Duration, members int) *Memory {
	return &Memory{spread: spread, Members: max(1, members), Clock: now, born: now(),
		plan: Plan{horizon: OwnHorizon, from: longAgo, usages: map[Key]*usage{}}, pauses: map[Key]time.Time{}}
}

func (l *Memory) now() int64 { return l.Clock().Sub(l.born).Microseconds() }

// Request implements Ledger.
func (l *Memory) Request(ctx context.Context, media string, a Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, fmt.Errorf("request calls of %s: %w", media, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.Clock()
	a.Unused = nil // They are of another ledger. This one grants no moments that could be returned.
	for i, x := range a.Limits {
		a.Limits[i] = x.of(l.spread, l.Members)
	}
	maps.DeleteFunc(l.pauses, func(_ Key, until time.Time) bool { return !until.After(at) })
	return Answer{Asked: at, Answered: at, Horizon: Microseconds(OwnHorizon / 2), Wants: l.plan.Answer(l.now(), a),
		Pauses: maps.Clone(l.pauses)}, nil
}

// Pause implements Ledger.
func (l *Memory) Pause(ctx context.Context, point Key, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pause %s: %w", point, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused++
	until := l.Clock().Add(min(d, PauseMax))
	switch {
	case d <= 0:
		delete(l.pauses, point)
	case l.pauses[point].Before(until):
		l.pauses[point] = until
	}
	return nil
}

// Listen implements Ledger. No other process orders pauses here.
func (l *Memory) Listen(ctx context.Context, _ string, _ func(Key, time.Duration), _ func(error)) {
	<-ctx.Done()
}

// SetMembers sets the number of members that share each limit.
func (l *Memory) SetMembers(members int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Members = members
}

// Parts returns the number of members that share each limit.
func (l *Memory) Parts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Members
}

// HoldOff clears the record and grants nothing for d, because another ledger may have granted calls until then.
func (l *Memory) HoldOff(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = Plan{horizon: OwnHorizon, from: l.now() + d.Microseconds(), usages: map[Key]*usage{}}
}

// Pausings returns how often pauses were ordered.
func (l *Memory) Pausings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// Sync stores a media's pauses as another ledger reported them. If pausings shows that no pause was ordered here
// since, it also drops all others.
func (l *Memory) Sync(media string, pauses map[Key]time.Time, pausings int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pausings == l.paused {
		maps.DeleteFunc(l.pauses, func(point Key, _ time.Time) bool { return point.Media == media })
	}
	maps.Copy(l.pauses, pauses)
}

// InForce returns the pauses in force and the time that each still lasts.
func (l *Memory) InForce() map[Key]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[Key]time.Duration{}
	for point, until := range l.pauses {
		if left := until.Sub(l.Clock()); left > 0 {
			out[point] = left
		}
	}
	return out
}
