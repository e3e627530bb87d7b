package grant

import (
	"context"
	"time"
)

// PauseMax is the longest pause.
const PauseMax = 24 * time.Hour

// Ledger records what was granted. Its methods may be called concurrently, by any number of processes that share the
// record.
type Ledger interface {
	// Request requests calls; see Plan. All limits are of one media. After an error the outcome is unknown.
	Request(ctx context.Context, media string, a Request) (Answer, error)

	// Pause lets no process call at a point for d from now, if it shares the record. It never shortens a longer pause
	// that is in force. A d of 0 or less ends the pause.
	Pause(ctx context.Context, point Key, d time.Duration) error

	// Listen calls onPause for each pause of a media that any process orders, this one included, until ctx ends. A pause
	// that was ordered while the ledger was away is only in the next answer. Listen calls onLoss when it notices that the
	// ledger is away.
	Listen(ctx context.Context, media string, onPause func(point Key, d time.Duration), onLoss func(error))
}

// Answer is a ledger's answer to a request.
type Answer struct {
	// The time that starts count from lies between these two times of this process. They are no further apart than the
	// round trip took.
	Asked, Answered time.Time
	Clock           time.Time     // that time on the ledger's own clock; zero if it has none
	Horizon         time.Duration // calls were granted up to this
	Wants           []Given
	// Pauses are those in force with their ends, on this process's clock; nil if they are unchanged since the last
	// answer.
	Pauses map[Key]time.Time
	// Lost reports that the ledger has lost pauses. Pauses are then those that it still has.
	Lost bool
	// Server is the run id of the server that has answered; empty if unknown.
	Server string
}
