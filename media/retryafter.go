package media

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"adsync/base/clock"
)

// PauseMaxDefault is the default of media.pause_max, the longest pause that an answer may demand. Limits are counted
// by the minute, the hour or the day: a longer pause comes from a broken proxy, or is demanded again.
const PauseMaxDefault = time.Hour

// RetryAfter returns the wait in an answer's header Retry-After, which is a number of seconds or an HTTP date in one
// of its three forms; 0 without a readable one. A date counts from the answer's own Date, which client.Transport adds
// if it is missing, or otherwise from this process's clock. The time is not bounded: the caller bounds it.
func RetryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if wait, ok := Seconds(text); ok {
		return wait
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = clock.System{}.Now()
	}
	return max(0, at.Sub(now))
}

// Seconds parses a whole number of seconds, as in headers. A number too large for a Duration returns the longest
// Duration.
func Seconds(text string) (time.Duration, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(seconds) * time.Second, true
}
