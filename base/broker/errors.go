package broker

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

var (
	// ErrUnknownTopic means that a topic does not exist, or that this user may not see it.
	ErrUnknownTopic = errors.New("topic does not exist")
	// ErrTooLarge means that a message is larger than a broker accepts.
	ErrTooLarge = errors.New("message is larger than the broker takes")
	// ErrRevoked is the cause of a handler's context that ended because the partition goes to another member or the
	// group stops.
	ErrRevoked = errors.New("partition is taken away from this member")
	// ErrStopped means that Start was called on a stopped group.
	ErrStopped = errors.New("group was stopped")
)

// Refused reports whether the cluster answered with a permanent refusal: the user lacks a right, or the settings
// require what the cluster does not have. A topic that does not exist yet is no refusal.
func Refused(err error) bool {
	code, ok := errors.AsType[kafka.Error](err)
	return untrusted(err) || ok && !mayPass(code) && code != kafka.UnknownTopicOrPartition
}

// WriteError names the messages of a Write without a position, by their index in the slice that was written. All
// other messages are written.
type WriteError struct {
	Failed  []int // not written
	Unknown []int // sent, but the broker's answer was lost or unclear: written or not, to be sent again
	Err     error // the first cause
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("%d messages not written, %d with unknown outcome: %v", len(e.Failed), len(e.Unknown), e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
