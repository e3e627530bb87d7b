package clock

import (
	"math"
	"time"
)

// Scaled is a clock that starts at a given time and advances at its own speed, or stands still.
type Scaled struct {
	base   time.Time
	real   time.Time
	speed  float64
	frozen bool
}

// NewScaled returns a clock that shows now and advances speed seconds per second, above 0. A frozen clock never
// advances.
func NewScaled(now time.Time, speed float64, frozen bool) *Scaled {
	return &Scaled{base: now, real: time.Now(), speed: speed, frozen: frozen}
}

// Now implements Clock.
func (c *Scaled) Now() time.Time {
	if c.frozen {
		return c.base.UTC().Truncate(time.Millisecond)
	}
	return c.base.Add(time.Duration(float64(time.Since(c.real)) * c.speed)).UTC().Truncate(time.Millisecond)
}

// Until implements Clock. For a frozen clock a later time is never reached.
func (c *Scaled) Until(t time.Time) time.Duration {
	left := t.Sub(c.Now())
	if left <= 0 {
		return left
	}
	if real := float64(left) / c.speed; !c.frozen && real < math.MaxInt64/2 {
		return time.Duration(real)
	}
	return math.MaxInt64
}

var _ Clock = (*Scaled)(nil)
