package orc

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"adsync/base/schedule"
)

// Days since 1970-01-01, and the seconds of one.
const (
	dayFirst  = -719162 // 0001-01-01
	dayLast   = 2932896 // 9999-12-31
	dayHybrid = -141427 // 1582-10-15, the first day after the Julian calendar
	dayLength = 24 * 60 * 60
)

// secondsMax bounds the stored seconds of a timestamp. The year 9999 is within it.
const secondsMax = 1 << 40

var errHybrid = errors.New("it is before 1582-10-15 in a file that does not state its calendar: " +
	"want a later day")

// checkDay returns an error if a day has no text. In a hybrid file, the days before 1582-10-15 may be Julian.
func checkDay(day int64, hybrid bool) error {
	if day < dayFirst || day > dayLast {
		return fmt.Errorf("it is %d days after 1970-01-01: want a year from 1 to 9999", day)
	}
	if hybrid && day < dayHybrid {
		return errHybrid
	}
	return nil
}

func days(data *stream, version int, hybrid bool) (func() ([]byte, error), error) {
	in, err := newIntegers(data, version, true)
	if err != nil {
		return nil, err
	}
	var text []byte
	return func() ([]byte, error) {
		day, err := in.next()
		if err != nil {
			return nil, err
		}
		if err := checkDay(day, hybrid); err != nil {
			return nil, err
		}
		text = time.Unix(day*dayLength, 0).UTC().AppendFormat(text[:0], time.DateOnly)
		return text, nil
	}, nil
}

// times decodes timestamps as the times of day in a zone. They are stored as the seconds since the year 2015 began in
// the zone, and as nanoseconds.
func times(
	data, secondary *stream, version int, zone *time.Location, hybrid bool,
) (func() ([]byte, error), error) {
	seconds, err := newIntegers(data, version, true)
	if err != nil {
		return nil, err
	}
	parts, err := newIntegers(secondary, version, false)
	if err != nil {
		return nil, err
	}
	epoch := time.Date(2015, time.January, 1, 0, 0, 0, 0, zone).Unix()
	var text []byte
	return func() ([]byte, error) {
		at, err := seconds.next()
		if err != nil {
			return nil, err
		}
		part, err := parts.next()
		if err != nil {
			return nil, err
		}
		nanos, err := nanoseconds(part)
		if err != nil {
			return nil, err
		}
		if at < -secondsMax || at > secondsMax {
			return nil, fmt.Errorf("it is %d seconds after 2015-01-01: want a year from 1 to 9999", at)
		}
		at += epoch
		// A writer rounds the seconds before 1970 up if there are milliseconds.
		if at < 0 && nanos >= int64(time.Millisecond) {
			at--
		}
		t := time.Unix(at, nanos).In(zone)
		_, offset := t.Zone()
		if err := checkDay(floorDay(t.Unix()+int64(offset)), hybrid); err != nil {
			return nil, err
		}
		text = t.AppendFormat(text[:0], "2006-01-02 15:04:05.999999")
		return text, nil
	}, nil
}

// floorDay returns the day of a second.
func floorDay(second int64) int64 {
	day := second / dayLength
	if second%dayLength < 0 {
		day--
	}
	return day
}

// nanoseconds returns the nanoseconds of a second. The last 3 bits of the stored number are the trailing zeros that it
// does not have, minus 1. Pyarrow writes negative nanoseconds before 1970.
func nanoseconds(stored int64) (int64, error) {
	n := stored >> 3
	inSecond := func() bool { return n > -int64(time.Second) && n < int64(time.Second) }
	if zeros := stored & 7; zeros > 0 && inSecond() {
		for range zeros + 1 {
			n *= 10
		}
	}
	if !inSecond() {
		return 0, fmt.Errorf("it has %d nanoseconds: want less than a second", n)
	}
	if n%1000 != 0 {
		return 0, fmt.Errorf("it has %d nanoseconds: want whole microseconds", n)
	}
	return n, nil
}

// fixedZone matches zones of a fixed difference to UTC, as Java names them, such as GMT+08:00.
var fixedZone = regexp.MustCompile(`^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$`)

// zoneOf returns a writer's time zone. A file without one is read as UTC.
func zoneOf(name string) (*time.Location, error) {
	if name == "" || name == "Z" {
		return time.UTC, nil
	}
	if part := fixedZone.FindStringSubmatch(name); part != nil {
		hours, _ := strconv.Atoi(part[2])
		minutes, _ := strconv.Atoi(part[3]) // There may be none.
		offset := hours*60*60 + minutes*60
		if part[1] == "-" {
			offset = -offset
		}
		return time.FixedZone(name, offset), nil
	}
	zone, err := schedule.Zone(name)
	if err != nil {
		return nil, fmt.Errorf("the writer's time zone is %q: want a name of the IANA time zone database or UTC", name)
	}
	return zone, nil
}
