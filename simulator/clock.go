package simulator

import (
	"fmt"
	"math"
	"sync"
	"time"

	"adsync/base/clock"
)

// WorldClock tells the world's time, which may be frozen, set, or run faster than real time. It is safe for
// concurrent use, and the Now of a frozen clock never moves.
type WorldClock struct {
	mu     sync.RWMutex
	base   time.Time // the world's time at real
	real   time.Time // a reading of the real clock; its monotonic part measures what passed since
	speed  float64
	frozen bool
	onSet  func() error // saves the state after a change
}

var _ clock.Clock = (*WorldClock)(nil)

// clockState is how the clock is kept over a restart.
type clockState struct {
	World  time.Time `json:"world"`
	Real   time.Time `json:"real"`
	Speed  float64   `json:"speed"`
	Frozen bool      `json:"frozen"`
}

// newWorldClock starts a clock. One that is frozen from the start shows exactly its start.
func newWorldClock(start time.Time, speed float64, frozen bool) *WorldClock {
	return &WorldClock{base: start, real: time.Now(), speed: speed, frozen: frozen, onSet: func() error { return nil }}
}

// restoreClock goes on with a kept clock. At the speed of real time the world went on while the program was down;
// a faster world resumes where it was, since a night off would else be months.
func restoreClock(kept clockState) *WorldClock {
	now := time.Now()
	world := kept.World
	if !kept.Frozen && kept.Speed == 1 {
		if away := now.Sub(kept.Real); away > 0 {
			world = world.Add(away)
		}
	}
	if checkMoment(world) != nil {
		world = kept.World
	}
	return &WorldClock{base: world, real: now, speed: kept.Speed, frozen: kept.Frozen, onSet: func() error { return nil }}
}

// Now is the world's time in UTC, cut to milliseconds.
func (c *WorldClock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.now().UTC().Truncate(time.Millisecond)
}

func (c *WorldClock) now() time.Time {
	if c.frozen {
		return c.base
	}
	now := c.base.Add(time.Duration(float64(time.Since(c.real)) * c.speed))
	// The world ends where its ids end; a clock that ran into the end stands there.
	if now.After(lastMoment) {
		return lastMoment
	}
	return now
}

// Until is how long to wait, in real time, until the clock shows t: practically for ever when it is frozen before t.
func (c *WorldClock) Until(t time.Time) time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	left := t.Sub(c.now())
	if left <= 0 {
		return left
	}
	if c.frozen {
		return math.MaxInt64
	}
	wait := float64(left) / c.speed
	if wait > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return time.Duration(wait)
}

// Speed is how many seconds of the world pass in one real second, whether or not the clock is frozen.
func (c *WorldClock) Speed() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.speed
}

// pace is how many seconds of the world something lasts that takes one in real time: that of real time where the clock stands still or
// is slower, or what only time ends might never end.
func (c *WorldClock) pace() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.frozen {
		return 1
	}
	return max(c.speed, 1)
}

// Frozen tells whether the clock stands still.
func (c *WorldClock) Frozen() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.frozen
}

// Freeze stops the clock; doing so twice changes nothing. The error, here and below, is that the change could not
// be saved: it holds in this process all the same.
func (c *WorldClock) Freeze() error {
	return c.change(func(now time.Time) { c.rebase(now); c.frozen = true })
}

// Resume lets a frozen clock run on from where it stands.
func (c *WorldClock) Resume() error {
	return c.change(func(now time.Time) { c.rebase(now); c.frozen = false })
}

// Set moves the clock to t, frozen or not. The world exists from 2025 up to 2035.
func (c *WorldClock) Set(t time.Time) error {
	if err := checkMoment(t); err != nil {
		return err
	}
	return c.change(func(time.Time) { c.rebase(t) })
}

// SetSpeed makes the world's seconds pass x times as fast as real ones, from now on.
func (c *WorldClock) SetSpeed(x float64) error {
	if err := checkSpeed(x); err != nil {
		return err
	}
	return c.change(func(now time.Time) { c.rebase(now); c.speed = x })
}

func (c *WorldClock) change(apply func(now time.Time)) error {
	c.mu.Lock()
	apply(c.now())
	c.mu.Unlock()
	return c.onSet()
}

func (c *WorldClock) rebase(t time.Time) { c.base, c.real = t, time.Now() }

func (c *WorldClock) state() clockState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return clockState{World: c.now().UTC(), Real: time.Now().UTC(), Speed: c.speed, Frozen: c.frozen}
}

func checkMoment(t time.Time) error {
	if t.Before(firstMoment) || !t.Before(lastMoment) {
		return fmt.Errorf("the world exists from %s up to %s, not at %s", firstMoment.Format(dayLayout),
			lastMoment.Format(dayLayout), t.Format(time.RFC3339))
	}
	return nil
}

func checkSpeed(x float64) error {
	if !(x > 0 && x <= 100_000) { // also refuses NaN
		return fmt.Errorf("the speed of the clock is above 0 and at most 100000, not %v", x)
	}
	return nil
}
