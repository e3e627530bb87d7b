package world

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // the zones must be known where the machine has no database of them
)

// Days are counted from 1970-01-01 and moments are Unix seconds. The platforms themselves live in China's time, which
// has had no summer time since 1991: a day is always 24 hours. Accounts keep their days by their own calendars.
const (
	zoneOffset = 8 * 3600
	HourLength = 3600
	DayLength  = 86400
)

var (
	// Zone is China's time, in which the platforms live.
	Zone = time.FixedZone("Asia/Shanghai", zoneOffset)

	// FirstMoment is where the world begins: ids of ads are numbered from here on.
	FirstMoment = time.Date(2025, 1, 1, 0, 0, 0, 0, Zone)
	// LastMoment is where the world, and the numbers for ids, end.
	LastMoment = time.Date(2035, 1, 1, 0, 0, 0, 0, Zone)
)

// DayLayout is how days are written.
const DayLayout = "2006-01-02"

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// DayOf is the day that a moment is in, in China's time.
func DayOf(moment int64) int { return int(floorDiv(moment+zoneOffset, DayLength)) }

// DayStart is when a day begins, in China's time.
func DayStart(day int) int64 { return int64(day)*DayLength - zoneOffset }

// FormatDay writes a day.
func FormatDay(day int) string { return string(AppendDay(nil, day)) }

// AppendDay appends a day as it is written.
func AppendDay(b []byte, day int) []byte {
	return time.Unix(int64(day)*DayLength, 0).UTC().AppendFormat(b, DayLayout)
}

// ParseDay reads a day.
func ParseDay(text string) (int, error) {
	t, err := time.Parse(DayLayout, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a day like 2026-11-15", text)
	}
	return int(floorDiv(t.Unix(), DayLength)), nil
}

// Calendar is where an account keeps its days, and what it pays with. The methods of nil are those of China's.
type Calendar struct {
	zone     string // its IANA name
	currency string
	location *time.Location
	first    int     // the day of starts[0]
	starts   []int64 // when days begin, of all that the world has and some around them
}

// Pacific is the calendar of accounts in USD: its days are of 23 hours once a year, and of 25 once.
var Pacific = sync.OnceValue(func() *Calendar {
	location, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err) // the database of zones is part of the program
	}
	const margin = 400
	c := &Calendar{zone: location.String(), currency: "USD", location: location, first: DayOf(FirstMoment.Unix()) - margin}
	for day := c.first; day <= DayOf(LastMoment.Unix())+margin; day++ {
		c.starts = append(c.starts, c.midnight(day))
	}
	return c
})

func (c *Calendar) midnight(day int) int64 {
	year, month, date := time.Unix(int64(day)*DayLength, 0).UTC().Date()
	return time.Date(year, month, date, 0, 0, 0, 0, c.location).Unix()
}

// ZoneName is the IANA name of the time zone.
func (c *Calendar) ZoneName() string {
	if c == nil {
		return Zone.String()
	}
	return c.zone
}

// CurrencyCode is the currency of accounts that keep their days so.
func (c *Calendar) CurrencyCode() string {
	if c == nil {
		return "CNY"
	}
	return c.currency
}

// DayOf is the day that a moment is in.
func (c *Calendar) DayOf(moment int64) int {
	if c == nil {
		return DayOf(moment)
	}
	year, month, date := time.Unix(moment, 0).In(c.location).Date()
	return int(floorDiv(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix(), DayLength))
}

// Start is when a day begins.
func (c *Calendar) Start(day int) int64 {
	if c == nil {
		return DayStart(day)
	}
	if i := day - c.first; i >= 0 && i < len(c.starts) {
		return c.starts[i]
	}
	return c.midnight(day)
}

// Length is how many seconds a day has.
func (c *Calendar) Length(day int) int64 {
	if c == nil {
		return DayLength
	}
	return c.Start(day+1) - c.Start(day)
}

// Hour is an hour of a day as clocks name it: from and to are seconds since midnight.
type Hour struct {
	Name     int
	From, To int64
}

var usualHours = func() (hours []Hour) {
	for h := range 24 {
		hours = append(hours, Hour{h, int64(h) * HourLength, int64(h+1) * HourLength})
	}
	return hours
}()

// Hours are those of a day: where the clock is put forward one is missing, where it is put back one lasts two hours.
func (c *Calendar) Hours(day int) []Hour {
	length := c.Length(day)
	if length == DayLength {
		return usualHours
	}
	var hours []Hour
	for second := int64(0); second < length; second += HourLength {
		name := time.Unix(c.Start(day)+second, 0).In(c.location).Hour()
		if n := len(hours); n > 0 && hours[n-1].Name == name {
			hours[n-1].To += HourLength
			continue
		}
		hours = append(hours, Hour{name, second, second + HourLength})
	}
	return hours
}
