//go:build !chaos

package clock

import "time"

// skew is by how much the process's clock is set wrong: never on purpose in this build.
func skew() time.Duration { return 0 }
