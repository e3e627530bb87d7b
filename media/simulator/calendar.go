package simulator

import (
	"fmt"
	"time"
)

// All accounts live in China's time, which has had no summer time since 1991: a day is always 24 hours. Days are
// counted from 1970-01-01 and moments are Unix seconds.
const (
	zoneOffset = 8 * 3600
	hourLength = 3600
	dayLength  = 86400
)

var (
	zone = time.FixedZone("Asia/Shanghai", zoneOffset)

	// firstMoment and lastMoment bound the clock: ids of ads are numbered within this span.
	firstMoment = time.Date(2025, 1, 1, 0, 0, 0, 0, zone)
	lastMoment  = time.Date(2035, 1, 1, 0, 0, 0, 0, zone)
)

const dayLayout = "2006-01-02"

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func dayOf(moment int64) int { return int(floorDiv(moment+zoneOffset, dayLength)) }

func dayStart(day int) int64 { return int64(day)*dayLength - zoneOffset }

func formatDay(day int) string { return string(appendDay(nil, day)) }

func appendDay(b []byte, day int) []byte {
	return time.Unix(int64(day)*dayLength, 0).UTC().AppendFormat(b, dayLayout)
}

func parseDay(text string) (int, error) {
	t, err := time.Parse(dayLayout, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a day like 2026-11-15", text)
	}
	return int(floorDiv(t.Unix(), dayLength)), nil
}
