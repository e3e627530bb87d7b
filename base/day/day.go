// Package day defines the business day: a calendar date in an account's own time zone.
package day

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Day is a calendar date, written "2026-11-21". Days compare and sort as strings. A Day has no zone. Its zone is that
// of the row that contains it.
type Day string

const layout = "2006-01-02"

// Epoch is used where a key needs a day but the row has none (coverage of configuration rows).
const Epoch Day = "1970-01-01"

// Earliest is the first day that users may name: no platform has earlier figures.
const Earliest Day = "2010-01-01"

// yearsAhead is how far ahead users may name the end of a binding.
const yearsAhead = 5

// Given parses a day that a user named, and refuses days for which platforms can have no figures: before Earliest,
// and after tomorrow in UTC, which covers the zones furthest ahead. The error is a phrase that describes the allowed
// days.
func Given(text string, now time.Time) (Day, error) { return given(text, now, of(now.UTC()).Add(1)) }

// GivenAhead parses a day of a binding, which may be years ahead.
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

// Of returns the day of t in loc.
func Of(t time.Time, loc *time.Location) Day { return of(t.In(loc)) }

// of returns the day of t in its own location. It is called for thousands of rows, and time.Time.Format takes five
// times as long.
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

// Parse parses "2026-11-21" and refuses anything else.
func Parse(s string) (Day, error) {
	t, err := time.Parse(layout, s)
	if err != nil || t.Format(layout) != s {
		return "", fmt.Errorf("day %q: want YYYY-MM-DD", s)
	}
	return Day(s), nil
}

// String returns the date as YYYY-MM-DD.
func (d Day) String() string { return string(d) }

// Add returns the day n days later; n may be negative. It returns an invalid day unchanged.
func (d Day) Add(n int) Day {
	t, err := time.Parse(layout, string(d))
	if err != nil {
		return d
	}
	return of(t.AddDate(0, 0, n))
}

// Start returns the first moment of the day in loc. A day that loc skipped begins with the day after it.
func (d Day) Start(loc *time.Location) time.Time {
	t, err := time.ParseInLocation(layout, string(d), loc)
	if err != nil {
		return time.Time{}
	}
	// Where the clock is put forward at midnight, time may return the hour before it. Where it is put back to midnight,
	// time may return the second midnight.
	if of(t) < d {
		_, t = t.ZoneBounds()
	} else if first := t.Add(-time.Hour); of(first) == d {
		return first
	}
	return t
}

// Hour returns when an hour of the day begins in loc, as clocks name it: the first time if it occurs twice, and if it
// is skipped when the next one begins.
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

// Between returns all days from a to b, both included; none if b is before a.
func Between(a, b Day) []Day {
	var days []Day
	for d := a; d <= b; d = d.Add(1) {
		days = append(days, d)
	}
	return days
}

// Value implements driver.Valuer.
func (d Day) Value() (driver.Value, error) { return string(d), nil }

// Scan implements sql.Scanner. Databases return a DATE as text or as a time at midnight UTC.
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
