package grant

import "time"

// If a platform reports a limit as used up although we have kept it, the limit is lower than we assume, or others use
// it too. It is then tightened by a tenth per refusal, at intervals and down to a half, and recovers slowly.
//
// The tightening is stored as a time, like a pause: the time at which the limit will be whole again. So processes
// that are refused at the same time tighten it once, all learn of it as of a pause, and it recovers automatically.
const (
	tightenMost = 0.5              // at most this part is taken away
	TightenFor  = 10 * time.Minute // how long recovery from that takes
	TightenStep = TightenFor / 5
)

// Tightened returns the part of a limit that is to be used.
func Tightened(whole, now time.Time) float64 {
	left := min(max(0, whole.Sub(now)), TightenFor)
	return 1 - tightenMost*float64(left)/float64(TightenFor)
}
