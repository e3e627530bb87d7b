package clock

import (
	"context"
	"time"
)

// Mark returns a reading of this process's clock, to measure durations from. It may be minutes off from all other
// clocks, so it must not be used as a time, except where no other clock is available and the reader knows that.
func Mark() time.Time { return time.Now().Add(skew()) }

// Since returns how long ago a mark was taken.
func Since(mark time.Time) time.Duration { return Mark().Sub(mark) }

// Until returns how long it is until a time that was computed from a mark.
func Until(mark time.Time) time.Duration { return mark.Sub(Mark()) }

// Left returns how long ctx has until its deadline, and false if it has none.
func Left(ctx context.Context) (time.Duration, bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0, false
	}
	return time.Until(deadline), true
}

// Sleep waits for d, or until ctx ends, and returns the error of ctx then.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
