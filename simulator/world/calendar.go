package world

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // the zones must be known where the machine has no database of them
)

// Days are counted from 1970-01-01 and moments are Unix seconds. The platforms themselves use China's time, which has
// had no summer time since 1991: a day always has 24 hours. Accounts have days by their own calendars.
const (
	zoneOffset = 8 * 3600
	HourLength = 3600
	DayLength  = 86400
)

var (
	// Zone is China's time, which the platforms use.
	Zone = time.FixedZone("Asia/Shanghai", zoneOffset)

	// FirstMoment is the start of the world: ids of ads are numbered from here on.
	FirstMoment = time.Date(2025, 1, 1, 0, 0, 0, 0, Zone)
	// LastMoment is the end of the world and of the numbers for ids.
	LastMoment = time.Date(2035, 1, 1, 0, 0, 0, 0, Zone)
)

// DayLayout is the format of days.
const DayLayout = "2006-01-02"

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// DayOf returns the day of a moment in China's time.
func DayOf(moment int64) int { return int(floorDiv(moment+zoneOffset, DayLength)) }

// DayStart returns the start of a day in China's time.
func DayStart(day int) int64 { return int64(day)*DayLength - zoneOffset }

// FormatDay returns a day in DayLayout.
func FormatDay(day int) string { return string(AppendDay(nil, day)) }

// AppendDay appends a day in DayLayout.
func AppendDay(b []byte, day int) []byte {
	return time.Unix(int64(day)*DayLength, 0).UTC().AppendFormat(b, DayLayout)
}

// ParseDay parses a day in DayLayout.
func ParseDay(text string) (int, error) {
	t, err := time.Parse(DayLayout, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a day like 2026-11-15", text)
	}
	return int(floorDiv(t.Unix(), DayLength)), nil
}

// Calendar is the time zone and currency of an account. A nil Calendar is China's.
type Calendar struct {
	zone     string // its IANA name
	currency string
	smallest int64 // its smallest amount, in millionths
	location *time.Location
	first    int     // the day of starts[0]
	starts   []int64 // the start of each day of the world, and of some days before and after
}

// The calendars of accounts that are not China's.
var (
	// Pacific is that of accounts in USD. One day a year has 23 hours, and one has 25.
	Pacific = calendar("America/Los_Angeles", "USD", MicrosPerFen)
	// Tokyo is that of accounts in yen, which have no cents.
	Tokyo = calendar("Asia/Tokyo", "JPY", 1_000_000)
	// Greenwich is that of accounts in Kuwaiti dinars, which have three decimals. Their days are those of UTC.
	Greenwich = calendar("Etc/GMT", "KWD", 1_000)
)

// calendar returns a function that returns a calendar. smallest is the currency's smallest amount, in millionths.
func calendar(zone, currency string, smallest int64) func() *Calendar {
	return sync.OnceValue(func() *Calendar {
		location, err := time.LoadLocation(zone)
		if err != nil {
			panic(err) // the program embeds the zone database
		}
		const margin = 400
		c := &Calendar{zone: zone, currency: currency, smallest: smallest, location: location,
			first: DayOf(FirstMoment.Unix()) - margin}
		for day := c.first; day <= DayOf(LastMoment.Unix())+margin; day++ {
			c.starts = append(c.starts, c.midnight(day))
		}
		return c
	})
}

func (c *Calendar) midnight(day int) int64 {
	year, month, date := time.Unix(int64(day)*DayLength, 0).UTC().Date()
	return time.Date(year, month, date, 0, 0, 0, 0, c.location).Unix()
}

// ZoneName returns the IANA name of the time zone.
func (c *Calendar) ZoneName() string {
	if c == nil {
		return Zone.String()
	}
	return c.zone
}

// CurrencyCode returns the currency of accounts with this calendar.
func (c *Calendar) CurrencyCode() string {
	if c == nil {
		return "CNY"
	}
	return c.currency
}

// Smallest returns the currency's smallest amount in millionths. All amounts of figures, budgets and funds count it.
func (c *Calendar) Smallest() int64 {
	if c == nil {
		return MicrosPerFen
	}
	return c.smallest
}

// DayOf returns the day of a moment.
func (c *Calendar) DayOf(moment int64) int {
	if c == nil {
		return DayOf(moment)
	}
	year, month, date := time.Unix(moment, 0).In(c.location).Date()
	return int(floorDiv(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix(), DayLength))
}

// Start returns the start of a day.
func (c *Calendar) Start(day int) int64 {
	if c == nil {
		return DayStart(day)
	}
	if i := day - c.first; i >= 0 && i < len(c.starts) {
		return c.starts[i]
	}
	return c.midnight(day)
}

// Length returns the number of seconds in a day.
func (c *Calendar) Length(day int) int64 {
	if c == nil {
		return DayLength
	}
	return c.Start(day+1) - c.Start(day)
}

// Hour is an hour of a day by its name on the clock: from and to are seconds since midnight.
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

// Hours returns the hours of a day. When the clock is put forward one is missing, when it is put back one lasts two
// hours.
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
