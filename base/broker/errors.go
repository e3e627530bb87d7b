package broker

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

var (
	// ErrUnknownTopic says that a topic does not exist (or that this user may not see it).
	ErrUnknownTopic = errors.New("topic does not exist")
	// ErrTooLarge says that a message is larger than a broker takes.
	ErrTooLarge = errors.New("message is larger than the broker takes")
	// ErrRevoked is the cause of a handler's context that ended because the partition goes to another member or
	// the group stops.
	ErrRevoked = errors.New("partition is taken away from this member")
	// ErrStopped says that a stopped group was asked to start.
	ErrStopped = errors.New("group was stopped")
)

// Refused reports whether the cluster answered and says no: this user may not, or the settings ask for what it does not
// have, which does not pass. A topic that is not there yet is no refusal.
func Refused(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	return untrusted(err) || ok && !mayPass(code) && code != kafka.UnknownTopicOrPartition
}

// WriteError says which messages of a Write have no position, by their index in the slice that was written.
// Messages it does not name are written.
type WriteError struct {
	Failed  []int // not written
	Unknown []int // sent, but the broker's answer was lost or unclear: written or not, to be sent again
	Err     error // the first cause
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("%d messages not written, %d with unknown outcome: %v", len(e.Failed), len(e.Unknown), e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
