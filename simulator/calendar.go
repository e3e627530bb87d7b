package simulator

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // the zones must be known where the machine has no database of them
)

// Days are counted from 1970-01-01 and moments are Unix seconds. The platforms themselves live in China's time, which has had no
// summer time since 1991: a day is always 24 hours. Accounts keep their days by their own calendars.
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

// calendar is where an account keeps its days, and what it pays with. The methods of nil are those of China's.
type calendar struct {
	zone     string // its IANA name
	currency string
	location *time.Location
	first    int     // the day of starts[0]
	starts   []int64 // when days begin, of all that the world has and some around them
}

// pacific is the calendar of accounts in USD: its days are of 23 hours once a year, and of 25 once.
var pacific = sync.OnceValue(func() *calendar {
	location, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err) // the database of zones is part of the program
	}
	const margin = 400
	c := &calendar{zone: location.String(), currency: "USD", location: location, first: dayOf(firstMoment.Unix()) - margin}
	for day := c.first; day <= dayOf(lastMoment.Unix())+margin; day++ {
		c.starts = append(c.starts, c.midnight(day))
	}
	return c
})

func (c *calendar) midnight(day int) int64 {
	year, month, date := time.Unix(int64(day)*dayLength, 0).UTC().Date()
	return time.Date(year, month, date, 0, 0, 0, 0, c.location).Unix()
}

func (c *calendar) zoneName() string {
	if c == nil {
		return zone.String()
	}
	return c.zone
}

func (c *calendar) currencyCode() string {
	if c == nil {
		return "CNY"
	}
	return c.currency
}

// dayOf is the day that a moment is in.
func (c *calendar) dayOf(moment int64) int {
	if c == nil {
		return dayOf(moment)
	}
	year, month, date := time.Unix(moment, 0).In(c.location).Date()
	return int(floorDiv(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix(), dayLength))
}

// start is when a day begins.
func (c *calendar) start(day int) int64 {
	if c == nil {
		return dayStart(day)
	}
	if i := day - c.first; i >= 0 && i < len(c.starts) {
		return c.starts[i]
	}
	return c.midnight(day)
}

// length is how many seconds a day has.
func (c *calendar) length(day int) int64 {
	if c == nil {
		return dayLength
	}
	return c.start(day+1) - c.start(day)
}

// hour is an hour of a day as clocks name it: from and to are seconds since midnight.
type hour struct {
	name     int
	from, to int64
}

var usualHours = func() (hours []hour) {
	for h := range 24 {
		hours = append(hours, hour{h, int64(h) * hourLength, int64(h+1) * hourLength})
	}
	return hours
}()

// hours are those of a day: where the clock is put forward one is missing, where it is put back one lasts two hours.
func (c *calendar) hours(day int) []hour {
	length := c.length(day)
	if length == dayLength {
		return usualHours
	}
	var hours []hour
	for second := int64(0); second < length; second += hourLength {
		name := time.Unix(c.start(day)+second, 0).In(c.location).Hour()
		if n := len(hours); n > 0 && hours[n-1].name == name {
			hours[n-1].to += hourLength
			continue
		}
		hours = append(hours, hour{name, second, second + hourLength})
	}
	return hours
}
