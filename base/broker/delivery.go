package broker

import (
	"context"
	"sync/atomic"
)

// Handler is called once for each message, in the order of offsets within a partition, from a goroutine of that
// partition's own: calls for different partitions run at the same time.
//
// It hands the message on and returns; whoever finishes the work calls Done. It may block to hold reading back:
// membership of the group does not depend on it. Ctx ends when the partition is taken away or the group stops, with
// the cause ErrRevoked. From then on
//   - a handler that still waits must Abandon the delivery and return,
//   - work that has not begun should be Abandoned: the next owner of the partition does it,
//   - work under way has Config.DrainTimeout to finish and call Done.
type Handler func(ctx context.Context, d *Delivery)

// Delivery is a message that waits to be finished.
type Delivery struct {
	Message
	partition *partition
	ended     atomic.Bool
}

// Done says that the message is finished: its offset may be committed once all before it are. It may be called from
// any goroutine; only the first call of Done or Abandon counts. A delivery that is never ended holds back its
// partition's commits and, when the span is used up, its reading. Done after the partition was given up does
// nothing: the message comes again at its next owner.
func (d *Delivery) Done() {
	if d.ended.CompareAndSwap(false, true) {
		d.partition.finish(d.Offset, true)
	}
}

// HoldsUp tells whether nothing more of the message's partition is read until older messages are finished, of which it may be one.
func (d *Delivery) HoldsUp() bool { return d.partition.full() }

// Abandon says that nobody works on the message any more and nobody will: it stays uncommitted and comes again
// when the partition is assigned next, and a drain does not wait for it. It is meant for the end of a generation;
// at any other time it holds back the partition until its next generation, as a delivery that is never done does.
func (d *Delivery) Abandon() {
	if d.ended.CompareAndSwap(false, true) {
		d.partition.finish(d.Offset, false)
	}
}
