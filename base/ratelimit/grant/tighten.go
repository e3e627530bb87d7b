package grant

import "time"

// A limit of which the platform says that it is used up, though we have kept it, is lower than we believe, or others use it too. It is tightened by a
// tenth, once in a while for as long as the platform says so, down to a half, and comes back slowly.
//
// How far is kept as a moment, like a pause: that at which it will be whole again. So processes that are refused at the same time tighten
// it once, all learn of it as they do of pauses, and it comes back by itself.
const (
	tightenMost = 0.5              // of the limit, at the most
	TightenFor  = 10 * time.Minute // how long that takes to come back
	TightenStep = TightenFor / 5
)

// Tightened is which part of a limit is to be used.
func Tightened(whole, now time.Time) float64 {
	left := min(max(0, whole.Sub(now)), TightenFor)
	return 1 - tightenMost*float64(left)/float64(TightenFor)
}
