// Package day holds the business day: a calendar date in an account's own time zone.
package day

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Day is a calendar date, written "2026-11-21". Days compare and sort as strings. A Day says nothing of a zone:
// the row that carries it does.
type Day string

const layout = "2006-01-02"

// Epoch stands where a key needs a day and the thing has none (coverage of configuration rows).
const Epoch Day = "1970-01-01"

// Earliest is the first day that people may name: no platform has figures of an earlier one.
const Earliest Day = "2010-01-01"

// yearsAhead is how far ahead of now people may name a day, of a binding that is to end.
const yearsAhead = 5

// Given reads a day that a person named, and refuses those of which platforms can have no figures: before Earliest, and after tomorrow by
// UTC, which begins first where clocks are furthest ahead. The error is a phrase that says what would be right.
func Given(text string, now time.Time) (Day, error) { return given(text, now, of(now.UTC()).Add(1)) }

// GivenAhead reads a day of a binding, which may lie years ahead.
func GivenAhead(text string, now time.Time) (Day, error) {
	return given(text, now, of(now.UTC().AddDate(yearsAhead, 0, 0)))
}

func given(text string, now time.Time, latest Day) (Day, error) {
	d, err := Parse(text)
	if err != nil || d < Earliest || d > latest {
		return "", fmt.Errorf("want a day from %s to %s, such as %s", Earliest, latest, of(now.UTC()))
	}
	return d, nil
}

// Of returns the day that t falls on in loc.
func Of(t time.Time, loc *time.Location) Day { return of(t.In(loc)) }

// of is the day of t in its own location. Rows by the thousand have one, and time.Time.Format takes five times as long.
func of(t time.Time) Day {
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return Day(t.Format(layout))
	}
	digits := func(n int) (tens, ones byte) { return byte('0' + n/10%10), byte('0' + n%10) }
	var text [len(layout)]byte
	text[0], text[1] = digits(year / 100)
	text[2], text[3] = digits(year)
	text[4], text[7] = '-', '-'
	text[5], text[6] = digits(int(month))
	text[8], text[9] = digits(day)
	return Day(text[:])
}

// Parse reads "2026-11-21" and refuses anything else.
func Parse(s string) (Day, error) {
	t, err := time.Parse(layout, s)
	if err != nil || t.Format(layout) != s {
		return "", fmt.Errorf("day %q: want YYYY-MM-DD", s)
	}
	return Day(s), nil
}

// String returns the date as YYYY-MM-DD.
func (d Day) String() string { return string(d) }

// Add returns the day n days later; n may be negative. An invalid day stays as it is.
func (d Day) Add(n int) Day {
	t, err := time.Parse(layout, string(d))
	if err != nil {
		return d
	}
	return of(t.AddDate(0, 0, n))
}

// Start returns the first moment of the day in loc.
func (d Day) Start(loc *time.Location) time.Time {
	t, err := time.ParseInLocation(layout, string(d), loc)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Hour returns when an hour of the day begins in loc, as clocks name it: the first time where it comes twice, and where it is left
// out when the one after it does.
func (d Day) Hour(hour int, loc *time.Location) time.Time {
	start := d.Start(loc)
	t := start.Add(time.Duration(hour) * time.Hour)
	if t.Hour() == hour {
		return t
	}
	// The clock was put forward or back since midnight.
	for t = start; t.Hour() < hour && Of(t, loc) == d; {
		t = t.Add(time.Hour)
	}
	return t
}

// Between returns all days from a to b, both included, and none when b is before a.
func Between(a, b Day) []Day {
	var days []Day
	for d := a; d <= b; d = d.Add(1) {
		days = append(days, d)
	}
	return days
}

// Value implements driver.Valuer.
func (d Day) Value() (driver.Value, error) { return string(d), nil }

// Scan implements sql.Scanner; databases give a DATE as text or as a time at midnight UTC.
func (d *Day) Scan(v any) error {
	switch v := v.(type) {
	case time.Time:
		*d = of(v)
	case string:
		return d.scanText(v)
	case []byte:
		return d.scanText(string(v))
	case nil:
		*d = ""
	default:
		return fmt.Errorf("day from %T", v)
	}
	return nil
}

func (d *Day) scanText(s string) error {
	if len(s) < len(layout) {
		return errors.New("day is too short: " + s)
	}
	*d = Day(s[:len(layout)])
	return nil
}
