// Package lease elects one leader among any number of processes.
//
// One row of the database decides, by the database's time. Every term has an epoch that is higher than all before it,
// and every write of a leader is guarded by its epoch and holder in the database itself (package store). So a leader
// that was paused and has been replaced cannot write. In addition, the elector makes a leader notice soon and a
// follower take over soon.
package lease

import (
	"context"
	"errors"
	"time"
)

// ErrStaleLease is returned by a guarded write when another term has begun: nothing was written, and the holder is no
// longer the leader.
var ErrStaleLease = errors.New("the lease is stale: another term has begun")

// Lease identifies one term of one leader.
type Lease struct {
	Epoch  int64
	Holder string
}

// Table is the row that decides.
type Table interface {
	// Campaign begins a term for the holder if the row is free or the holder's own. Otherwise the lease is the zero
	// Lease, and free is the time that the present term still lasts.
	Campaign(ctx context.Context, holder string, ttl time.Duration) (l Lease, free time.Duration, err error)
	// Renew extends the term by ttl from now, or returns ErrStaleLease.
	Renew(ctx context.Context, l Lease, ttl time.Duration) error
	// Resign ends the term, so that another may begin at once. It does not change a term that has ended.
	Resign(ctx context.Context, l Lease) error
}
