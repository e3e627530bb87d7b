package grant

import (
	"context"
	"time"
)

// PauseMax is the longest pause.
const PauseMax = 24 * time.Hour

// Ledger keeps the book of what was granted. Its methods may be called at the same time, by any number of processes that share the book.
type Ledger interface {
	// Ask asks for calls; see plan. All limits are of one media. An error means that nothing is known of the outcome.
	Ask(ctx context.Context, media string, a Ask) (Answer, error)

	// Pause lets nobody call at a point for d from now, in every process that shares the book. It never shortens a longer pause that is in
	// force. A d of 0 or less ends the pause.
	Pause(ctx context.Context, point Key, d time.Duration) error

	// Listen calls told for each pause of a media that a process orders, this one included, until ctx ends. One that came while the ledger was
	// away is told by the next answer alone. It calls lost when it notices that the ledger is away.
	Listen(ctx context.Context, media string, told func(point Key, d time.Duration), lost func(error))
}

// Answer is a ledger's answer to an ask.
type Answer struct {
	// The moment that starts count from lies between these two of this process. They are no further apart than the ask took.
	Asked, Answered time.Time
	Clock           time.Time     // that moment on the ledger's own clock; zero where it has none
	Horizon         time.Duration // up to which calls were granted
	Wants           []Given
	// Pauses are those in force and when they end, on this process's clock; nil where they are what they were at the last answer.
	Pauses map[Key]time.Time
	// Lost says that the ledger has lost pauses that it had; pauses are then those that it has.
	Lost bool
	// Server is the run id of the server that has answered; empty where it is not known.
	Server string
}
