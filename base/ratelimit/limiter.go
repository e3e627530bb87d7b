package ratelimit

import (
	"context"
	"errors"
	"time"

	"adsync/base/clock"
)

// TakeMax is the most calls that one Take grants.
const TakeMax = 1000

// PauseMax is the longest pause.
const PauseMax = 24 * time.Hour

// lookahead is how far ahead a granted call may start: time enough to wake up and ask in, so that no slot passes
// unused, and too little to leave holes in other limits. Processes of one deployment must agree on it.
const lookahead = 25 * time.Millisecond

// errMixedMedia is returned for keys that no single script could take in a cluster.
var errMixedMedia = errors.New("keys of more than one media")

// Limiter grants calls.
//
// The methods may be called at the same time, by any number of processes that share a limiter's ledger.
type Limiter interface {
	// Take asks for n calls under all keys at once and returns how many were granted, from none to n: a call is granted
	// under all keys or under none. It does not wait. The keys must be of one media and differ from each other; without
	// keys everything is granted. An n of 0 or less grants nothing.
	//
	// An error means that nothing is known of the outcome; calls may have been counted.
	Take(ctx context.Context, keys []Key, n int) (Grant, error)

	// Pause lets nobody call under key for d from now, in every process, at most PauseMax. It never shortens a longer pause
	// that is in force. A d of 0 or less ends the pause.
	Pause(ctx context.Context, key Key, d time.Duration) error
}

// Grant is the answer to Take.
type Grant struct {
	// N is how many calls were granted.
	N int
	// Delays holds, for each granted call, how long after Take returned it may start, at most 25 ms.
	Delays []time.Duration
	// Until is when the grant ends: calls not started by then must not be made any more. It is measured on this process's
	// monotonic clock from before Take asked, so that a slow answer shortens the grant.
	Until time.Time
	// RetryAfter is how long to wait before another call can be granted under the same keys, if nobody else asks
	// before: 0 means right away. It is set whether or not calls were granted.
	RetryAfter time.Duration
	// By is the key that RetryAfter waits for; the zero Key when that is 0.
	By Key
}

// sameMedia reports whether all keys are of one media.
func sameMedia(keys []Key) bool {
	for _, k := range keys[min(1, len(keys)):] {
		if k.Media != keys[0].Media {
			return false
		}
	}
	return true
}

// grantAll is the answer to Take when nothing limits a call.
func grantAll(n int, spread time.Duration) Grant {
	n = max(0, min(n, TakeMax))
	return Grant{N: n, Delays: make([]time.Duration, n), Until: clock.Mark().Add(spread)}
}
