package media

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"adsync/base/clock"
)

// PauseMaxDefault is the longest pause that an answer may ask for unless media.pause_max says otherwise. A limit is
// counted by the minute, the hour or the day; what asks for more is a broken proxy, or is asked again.
const PauseMaxDefault = time.Hour

// RetryAfter returns how long the header Retry-After of an answer asks callers to wait, as seconds or as one of the
// three forms of an HTTP date; 0 when there is none that can be read. A date counts from the answer's own Date, which
// client.Transport sees to, else from this process's clock. The time is not bounded: whoever pauses does that.
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

// Seconds reads a whole number of seconds, as headers have them; a number beyond what a Duration holds is the longest
// one.
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
