package tencent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/ratelimit"
	"adsync/media"
	"adsync/media/wire"
)

var (
	_ media.QuotaReporter = Platform{}
	_ media.UsageReporter = Platform{}
	_ media.RowLimiter    = Platform{}
)

// QuotaLeft implements media.QuotaReporter. The header holds the app's remaining calls at the endpoint, for the day
// and for the minute: "50%,50%" (page "How to receive answers", 如何接收应答).
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

// Usage implements media.UsageReporter, from the same header.
func (Platform) Usage(header http.Header) []ratelimit.Usage {
	day, minute, _ := strings.Cut(header.Get("X-RateLimit-Remaining"), ",")
	var all []ratelimit.Usage
	for _, part := range []struct {
		period time.Duration
		text   string
	}{{24 * time.Hour, day}, {time.Minute, minute}} {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(part.text), "%"), 64)
		if err == nil && percent >= 0 && percent <= 100 {
			all = append(all, ratelimit.Usage{Period: part.period, Left: percent / 100})
		}
	}
	return all
}

// Rows implements media.RowLimiter. For reports it returns the level. By the page "Insight into advertising data"
// (广告数据洞察) a level is frozen when the calls of ten seconds match more than 40,000 of its rows. The page does not say
// whether that holds per app or per account.
func (Platform) Rows(endpoint string, query url.Values) string {
	if endpoint != dailyEndpoint && endpoint != hourlyEndpoint {
		return ""
	}
	return query.Get("level")
}

// Matched implements media.RowLimiter. Each page of a report has the number of all its rows.
func (Platform) Matched(payload json.RawMessage) (rows int, ok bool) {
	const name = `"page_info"`
	// It occurs once, next to the list, so the list need not be decoded: within a text its quotes would be escaped.
	i := bytes.LastIndex(payload, []byte(name))
	if i < 0 {
		return 0, false
	}
	_, rest, _ := bytes.Cut(payload[i+len(name):], []byte(":"))
	var info struct {
		Total wire.Int `json:"total_number"`
	}
	if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&info); err != nil || !info.Total.Set || info.Total.Value < 0 {
		return 0, false
	}
	return int(info.Total.Value), true
}
