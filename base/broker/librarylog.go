package broker

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"adsync/base/telemetry"
)

// libraryLog passes what kafka-go calls errors on. Its lines carry offsets and addresses, so the format, not the
// text, is taken as the cause.
type libraryLog struct{ causes *telemetry.CauseLog }

func (l libraryLog) Printf(format string, args ...any) {
	for _, arg := range args {
		// A read of an idle partition times out again and again, and is begun anew.
		if timeout, ok := arg.(interface{ Timeout() bool }); ok && timeout.Timeout() {
			return
		}
		// Whoever asked gets this one too, and knows what to make of it.
		if err, ok := arg.(error); ok && errors.Is(err, kafka.RebalanceInProgress) {
			return
		}
	}
	l.causes.Report(slog.LevelWarn, "kafka-go: "+format, "kafka client reports", libraryError{format: format, text: fmt.Sprintf(format, args...)})
}

type libraryError struct{ format, text string }

// Error returns the format: it is what the log compares.
func (e libraryError) Error() string { return e.format }

// LogValue shows the filled-in text.
func (e libraryError) LogValue() slog.Value { return slog.StringValue(e.text) }
