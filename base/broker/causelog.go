package broker

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
)

// repeatAfter is how long an unchanged cause stays silent: long enough not to flood a log during an outage, short
// enough that its end can be seen in it.
const repeatAfter = time.Minute

// causeLog logs one line per cause: an error is logged when it first comes up at a place, when it changes there,
// and once a minute while it lasts.
type causeLog struct {
	logger *slog.Logger

	mu   sync.Mutex
	last map[string]lastCause
}

type lastCause struct {
	text    string
	at      time.Time
	skipped int
}

func newCauseLog(logger *slog.Logger) *causeLog {
	return &causeLog{logger: logger, last: make(map[string]lastCause)}
}

// report logs err, which came up at place, unless it was logged there just now.
func (l *causeLog) report(place, message string, err error, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, now := l.last[place], clock.Mark()
	if last.text == err.Error() && now.Sub(last.at) < repeatAfter {
		last.skipped++
		l.last[place] = last
		return
	}
	args = append(args, "err", err)
	if last.skipped > 0 {
		args = append(args, "lines_left_out", last.skipped)
	}
	l.last[place] = lastCause{text: err.Error(), at: now}
	l.logger.Warn(message, args...) //nolint:sloglint // Every caller passes a fixed text.
}

// clear forgets the place's cause, so that the next error there is logged, and tells whether there was one.
func (l *causeLog) clear(place string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, had := l.last[place]
	delete(l.last, place)
	return had
}

// libraryLog passes what kafka-go calls errors on. Its lines carry offsets and addresses, so the format, not the
// text, is taken as the cause.
type libraryLog struct{ causes *causeLog }

func (l libraryLog) Printf(format string, args ...any) {
	l.causes.report("kafka-go: "+format, "kafka client reports", libraryError{format: format, text: fmt.Sprintf(format, args...)})
}

type libraryError struct{ format, text string }

// Error returns the format: it is what causeLog compares.
func (e libraryError) Error() string { return e.format }

// LogValue shows the filled-in text.
func (e libraryError) LogValue() slog.Value { return slog.StringValue(e.text) }
