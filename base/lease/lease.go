// Package lease elects one leader among any number of processes.
//
// One row of the database decides, by the database's time. Every term has an epoch that is higher than all before it,
// and every write of a leader is guarded by its epoch and holder in the database itself (package store): a leader that
// was paused and has been replaced cannot write, whatever it believes. What the elector adds is that a leader soon
// notices, and that a follower takes over soon.
package lease

import (
	"context"
	"errors"
	"time"
)

// ErrStaleLease is what a guarded write returns when another term has begun: nothing was written, and the holder is the
// leader no more.
var ErrStaleLease = errors.New("the lease is stale: another term has begun")

// Lease names one term of one leader.
type Lease struct {
	Epoch  int64
	Holder string
}

// Table is the row that decides.
type Table interface {
	// Campaign begins a term for the holder if the row is free, or its own. Otherwise the lease is the zero Lease and
	// free tells how long the present term still holds.
	Campaign(ctx context.Context, holder string, ttl time.Duration) (l Lease, free time.Duration, err error)
	// Renew extends the term by ttl from now, or returns ErrStaleLease.
	Renew(ctx context.Context, l Lease, ttl time.Duration) error
	// Resign ends the term, so that another may begin at once. A term that has ended stays as it is.
	Resign(ctx context.Context, l Lease) error
}
