package world

import (
	"fmt"
	"math"
	"sync"
	"time"

	"adsync/base/clock"
)

// Clock is the world's clock, which may be frozen, set, or run faster than real time. It is safe for concurrent use,
// and the Now of a frozen clock never changes.
type Clock struct {
	mu     sync.RWMutex
	base   time.Time // the world's time at real
	real   time.Time // a reading of the real clock; its monotonic part measures the time since
	speed  float64
	frozen bool
	OnSet  func() error // saves the state after a change
}

var _ clock.Clock = (*Clock)(nil)

// ClockState is the clock's state that is kept over a restart.
type ClockState struct {
	World  time.Time `json:"world"`
	Real   time.Time `json:"real"`
	Speed  float64   `json:"speed"`
	Frozen bool      `json:"frozen"`
}

// NewClock starts a clock. A clock that is frozen from the start shows exactly start.
func NewClock(start time.Time, speed float64, frozen bool) *Clock {
	return &Clock{base: start, real: time.Now(), speed: speed, frozen: frozen, OnSet: func() error { return nil }}
}

// RestoreClock restores a kept clock. At the speed of real time the clock includes the time while the program was
// down. A faster clock continues where it stopped, as a night's pause would otherwise become months.
func RestoreClock(kept ClockState) *Clock {
	now := time.Now()
	world := kept.World
	if !kept.Frozen && kept.Speed == 1 {
		if away := now.Sub(kept.Real); away > 0 {
			world = world.Add(away)
		}
	}
	if CheckMoment(world) != nil {
		world = kept.World
	}
	return &Clock{base: world, real: now, speed: kept.Speed, frozen: kept.Frozen, OnSet: func() error { return nil }}
}

// Now returns the world's time in UTC, truncated to milliseconds.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.now().UTC().Truncate(time.Millisecond)
}

func (c *Clock) now() time.Time {
	if c.frozen {
		return c.base
	}
	now := c.base.Add(time.Duration(float64(time.Since(c.real)) * c.speed))
	// The world ends where its ids end, and its clock stops there.
	if now.After(LastMoment) {
		return LastMoment
	}
	return now
}

// Until returns the real time until the clock shows t, practically infinite if it is frozen before t.
func (c *Clock) Until(t time.Time) time.Duration {
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

// Speed returns how many seconds of the world pass in one real second, whether or not the clock is frozen.
func (c *Clock) Speed() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.speed
}

// Pace returns how many seconds of the world pass in one real second, for waits that only time ends. It is at least
// 1, even if the clock is frozen or slower, so that every wait ends.
func (c *Clock) Pace() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.frozen {
		return 1
	}
	return max(c.speed, 1)
}

// Frozen reports whether the clock is frozen.
func (c *Clock) Frozen() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.frozen
}

// Freeze stops the clock; freezing it twice changes nothing. An error, here and in the methods below, means that the
// change could not be saved; it still holds in this process.
func (c *Clock) Freeze() error {
	return c.change(func(now time.Time) { c.rebase(now); c.frozen = true })
}

// Resume lets a frozen clock continue from its current time.
func (c *Clock) Resume() error {
	return c.change(func(now time.Time) { c.rebase(now); c.frozen = false })
}

// Set sets the clock to t, frozen or not. The world exists from 2025 up to 2035.
func (c *Clock) Set(t time.Time) error {
	if err := CheckMoment(t); err != nil {
		return err
	}
	return c.change(func(time.Time) { c.rebase(t) })
}

// SetSpeed sets the speed to x seconds of the world in one real second, from now on.
func (c *Clock) SetSpeed(x float64) error {
	if err := CheckSpeed(x); err != nil {
		return err
	}
	return c.change(func(now time.Time) { c.rebase(now); c.speed = x })
}

func (c *Clock) change(apply func(now time.Time)) error {
	c.mu.Lock()
	apply(c.now())
	c.mu.Unlock()
	return c.OnSet()
}

func (c *Clock) rebase(t time.Time) { c.base, c.real = t, time.Now() }

// State returns the state to keep over a restart.
func (c *Clock) State() ClockState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return ClockState{World: c.now().UTC(), Real: time.Now().UTC(), Speed: c.speed, Frozen: c.frozen}
}

// CheckMoment returns an error for a moment at which the world does not exist.
func CheckMoment(t time.Time) error {
	if t.Before(FirstMoment) || !t.Before(LastMoment) {
		return fmt.Errorf("the world exists from %s up to %s, not at %s", FirstMoment.Format(DayLayout),
			LastMoment.Format(DayLayout), t.Format(time.RFC3339))
	}
	return nil
}

// CheckSpeed returns an error for a speed that the clock cannot have.
func CheckSpeed(x float64) error {
	if !(x > 0 && x <= 100_000) { // the negation also refuses NaN
		return fmt.Errorf("the speed of the clock must be above 0 and at most 100000, not %v", x)
	}
	return nil
}
