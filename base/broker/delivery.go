package broker

import (
	"context"
	"sync/atomic"
)

// Handler is called once for each message, in the order of offsets within a partition. Each partition has its own
// goroutine, so calls for different partitions are concurrent.
//
// A handler passes the message on and returns. The code that finishes the work calls Done. The handler may block to
// hold reading back: membership of the group does not depend on it. Ctx ends when the partition is revoked or the
// group stops, with the cause ErrRevoked. From then on
//   - a handler that still waits must Abandon the delivery and return,
//   - work that has not begun should be Abandoned: the next owner of the partition does it,
//   - work in flight has Config.DrainTimeout to finish and call Done.
type Handler func(ctx context.Context, d *Delivery)

// Delivery is a message that waits to be finished.
type Delivery struct {
	Message
	partition *partition
	ended     atomic.Bool
}

// Done marks the message as finished: its offset may be committed once all before it are. It may be called from any
// goroutine. Only the first call of Done or Abandon counts. A delivery that is never ended holds back its partition's
// commits and, when the span is used up, its reading. Done after the partition was revoked has no effect: the next
// owner receives the message again.
func (d *Delivery) Done() {
	if d.ended.CompareAndSwap(false, true) {
		d.partition.finish(d.Offset, true)
	}
}

// HoldsUp reports whether the message's partition is not read further until older messages are finished. The message
// may be one of them.
func (d *Delivery) HoldsUp() bool { return d.partition.full() }

// Abandon ends the delivery without finishing it: the message stays uncommitted and is delivered again when the
// partition is assigned next, and a drain does not wait for it. It is meant for the end of a generation. At any other
// time it holds back the partition until its next generation, like a delivery that is never done.
func (d *Delivery) Abandon() {
	if d.ended.CompareAndSwap(false, true) {
		d.partition.finish(d.Offset, false)
	}
}
