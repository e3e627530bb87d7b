//go:build !chaos

package clock

import "time"

// skew is the deliberate error of the process's clock: none in this build.
func skew() time.Duration { return 0 }
