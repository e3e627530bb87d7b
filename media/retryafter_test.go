package media_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/media"
)

func TestRetryAfter_ReadsSecondsAndDates(t *testing.T) {
	t.Parallel()
	const date = "Sat, 21 Nov 2026 10:30:00 GMT"
	for name, test := range map[string]struct {
		text string
		want time.Duration
	}{
		"nothing":                      {"", 0},
		"seconds":                      {"31536000", 365 * 24 * time.Hour},
		"more than a number holds":     {"99999999999999999999", math.MaxInt64},
		"a date of RFC 9110":           {"Sat, 21 Nov 2026 10:31:30 GMT", 90 * time.Second},
		"a date of RFC 850":            {"Saturday, 21-Nov-26 10:31:30 GMT", 90 * time.Second},
		"a date of C":                  {"Sat Nov 21 10:31:30 2026", 90 * time.Second},
		"a date that is over":          {"Sat, 21 Nov 2026 10:29:00 GMT", 0},
		"a negative number":            {"-5", 0},
		"a fraction, which is invalid": {"1.5", 0},
		"words":                        {"soon", 0},
	} {
		require.Equal(t, test.want, media.RetryAfter(http.Header{"Retry-After": {test.text}, "Date": {date}}), name)
	}
	// Without a Date in the answer this process's clock is used.
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	require.InDelta(t, time.Hour.Seconds(), media.RetryAfter(http.Header{"Retry-After": {in}}).Seconds(), 60)
}

// A 429 with an envelope waits as long as the header demands, even if the code is unknown.
func TestCodes_ReadRetryAfterWithAnEnvelope(t *testing.T) {
	t.Parallel()
	codes := media.Codes{7: {Class: media.Quota, RetryAfter: time.Second}}
	for body, want := range map[string]media.Class{`{"code":7}`: media.Quota, `{"code":8}`: media.Quota} {
		_, err := codes.Decode(http.StatusTooManyRequests, http.Header{"Retry-After": {"90"}}, []byte(body))
		var e *media.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, want, e.Class, body)
		require.Equal(t, 90*time.Second, e.RetryAfter, body)
	}
}
