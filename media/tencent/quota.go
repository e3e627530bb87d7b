package tencent

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"adsync/base/ratelimit"
	"adsync/media"
)

var (
	_ media.QuotaTeller = Platform{}
	_ media.UsageTeller = Platform{}
)

// QuotaLeft implements media.QuotaTeller. The header holds what is left to the app at the endpoint of the day and of the
// minute: "50%,50%" (page "How to receive answers", 如何接收应答).
func (Platform) QuotaLeft(header http.Header) string {
	left := header.Get("X-RateLimit-Remaining")
	if left == "" {
		return ""
	}
	day, minute, both := strings.Cut(left, ",")
	if !both {
		return left
	}
	return strings.TrimSpace(day) + " of the day, " + strings.TrimSpace(minute) + " of the minute"
}

// Usage implements media.UsageTeller, from the same header.
func (Platform) Usage(header http.Header) []ratelimit.Usage {
	day, minute, _ := strings.Cut(header.Get("X-RateLimit-Remaining"), ",")
	var all []ratelimit.Usage
	for _, told := range []struct {
		period time.Duration
		text   string
	}{{24 * time.Hour, day}, {time.Minute, minute}} {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(told.text), "%"), 64)
		if err == nil && percent >= 0 && percent <= 100 {
			all = append(all, ratelimit.Usage{Period: told.period, Left: percent / 100})
		}
	}
	return all
}
