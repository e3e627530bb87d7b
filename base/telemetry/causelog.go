package telemetry

import (
	"log/slog"
	"regexp"
	"sync"
	"time"

	"adsync/base/clock"
)

// repeatAfter is how long an unchanged cause is not logged again: long enough not to flood a log during an outage,
// short enough that the log shows its end.
const repeatAfter = time.Minute

// causesMax is how many causes a place distinguishes. All others are one more. A database that goes away causes half
// a dozen errors.
const causesMax = 8

// numbers match what differs between two errors of one cause: the port of a connection, an offset, an id.
var numbers = regexp.MustCompile(`[0-9]+`)

// CauseLog logs one line per cause: an error is logged when it first occurs at a place and once a minute while it
// lasts, also if others occur there in between. Errors that differ only in numbers are one cause. It remembers every
// place, so places must have few names. It is safe for concurrent use.
type CauseLog struct {
	logger *slog.Logger

	mu   sync.Mutex
	last map[string]map[string]*lastCause // by place and cause
}

type lastCause struct {
	at      time.Time
	skipped int
}

// NewCauseLog returns a log that knows no causes yet.
func NewCauseLog(logger *slog.Logger) *CauseLog {
	return &CauseLog{logger: logger, last: make(map[string]map[string]*lastCause)}
}

// Report logs err, which occurred at place, unless it was logged there within repeatAfter.
func (l *CauseLog) Report(level slog.Level, place, message string, err error, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	causes := l.last[place]
	if causes == nil {
		causes = make(map[string]*lastCause)
		l.last[place] = causes
	}
	cause := numbers.ReplaceAllString(err.Error(), "#")
	if causes[cause] == nil && len(causes) >= causesMax {
		cause = "any other"
	}
	now := clock.Mark()
	last := causes[cause]
	if last != nil && now.Sub(last.at) < repeatAfter {
		last.skipped++
		return
	}
	args = append(args, "err", err)
	if last != nil && last.skipped > 0 {
		args = append(args, "lines_left_out", last.skipped)
	}
	causes[cause] = &lastCause{at: now}
	// Not Log, which requires a context: a cause belongs to no request.
	log := l.logger.Warn
	if level >= slog.LevelError {
		log = l.logger.Error
	}
	log(message, args...)
}

// Clear forgets the place's causes, so that the next error there is logged. It reports whether there were any.
func (l *CauseLog) Clear(place string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, had := l.last[place]
	delete(l.last, place)
	return had
}

// Recovered forgets the place's causes, and logs message if there were any.
func (l *CauseLog) Recovered(place, message string) {
	if l.Clear(place) {
		l.logger.Info(message) //nolint:sloglint // Every caller passes a fixed text.
	}
}

// OneCause makes err the same cause as every other error that is marked so at its place, whatever its text: one line
// stands for all. The log shows err unchanged.
func OneCause(err error) error { return sameError{err} }

type sameError struct{ err error }

// Error returns the text that CauseLog compares.
func (sameError) Error() string { return "any" }

func (c sameError) Unwrap() error { return c.err }

// LogValue returns the text of the error itself.
func (c sameError) LogValue() slog.Value { return slog.StringValue(c.err.Error()) }
