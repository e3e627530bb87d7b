package broker

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"adsync/base/telemetry"
)

// libraryLog logs what kafka-go reports as errors. Its lines contain offsets and addresses, so the format, not the
// text, is taken as the cause.
type libraryLog struct{ causes *telemetry.CauseLog }

func (l libraryLog) Printf(format string, args ...any) {
	for _, arg := range args {
		// A read of an idle partition times out repeatedly, and is restarted.
		if timeout, ok := arg.(interface{ Timeout() bool }); ok && timeout.Timeout() {
			return
		}
		// The caller gets this error too, and handles it.
		if err, ok := arg.(error); ok && errors.Is(err, kafka.RebalanceInProgress) {
			return
		}
	}
	l.causes.Report(slog.LevelWarn, "kafka-go: "+format, "kafka client reports",
		libraryError{format: format, text: fmt.Sprintf(format, args...)})
}

type libraryError struct{ format, text string }

// Error returns the format, by which the log compares causes.
func (e libraryError) Error() string { return e.format }

// LogValue returns the filled-in text.
func (e libraryError) LogValue() slog.Value { return slog.StringValue(e.text) }
