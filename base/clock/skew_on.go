//go:build chaos

package clock

import (
	"os"
	"time"
)

// skew is the error that a test adds to this process's clock, from its start to its end: ADSYNC_CLOCK_SKEW, as in
// "-5m".
func skew() time.Duration { return skewed }

var skewed, _ = time.ParseDuration(os.Getenv("ADSYNC_CLOCK_SKEW"))
