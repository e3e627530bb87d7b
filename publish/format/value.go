package format

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Holds reports whether a text is canonical for the column's type.
func (c *Column) Holds(b []byte) bool {
	switch c.Type {
	case Text:
		return utf8.Valid(b)
	case Integer:
		fraction, exponent, ok := scanNumber(b)
		return ok && fraction == 0 && !exponent && (len(b) < 20 || is64Bits(b))
	case Decimal:
		fraction, exponent, ok := scanNumber(b)
		return ok && fraction <= c.Scale && !exponent
	case Float:
		_, _, ok := scanNumber(b)
		return ok
	case Bool:
		return len(b) == 1 && (b[0] == '0' || b[0] == '1')
	case Day:
		_, ok := dayOf(b)
		return ok
	case Time:
		_, ok := microsOf(b)
		return ok
	}
	return false
}

// want returns what would be right for the column.
func (c *Column) want() string {
	switch c.Type {
	case Text:
		return "a text in UTF-8"
	case Integer:
		return "an integer of 64 bits in decimal digits"
	case Decimal:
		return fmt.Sprintf("a decimal number with at most %d digits after the point", c.Scale)
	case Float:
		return "a finite number"
	case Bool:
		return "0 or 1"
	case Day:
		return "a day, such as 2006-01-02"
	case Time:
		return "a time, such as 2006-01-02 15:04:05.123456"
	}
	return ""
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// digits returns the index of the first byte from i on that is not a digit.
func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// scanNumber reports whether b is a number as JSON has them, how many digits it has after the point, and whether it has
// an exponent.
func scanNumber(b []byte) (fraction int, exponent, ok bool) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		i++
	}
	begin := i
	i = digits(b, i)
	if i == begin || b[begin] == '0' && i > begin+1 {
		return 0, false, false
	}
	if i < len(b) && b[i] == '.' {
		begin = i + 1
		i = digits(b, begin)
		if fraction = i - begin; fraction == 0 {
			return 0, false, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		exponent = true
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		begin = i
		if i = digits(b, i); i == begin {
			return 0, false, false
		}
	}
	return fraction, exponent, i == len(b)
}

// is64Bits reports whether an integer is an int64 or uint64.
func is64Bits(b []byte) bool {
	if b[0] == '-' {
		_, err := strconv.ParseInt(string(b), 10, 64)
		return err == nil
	}
	_, err := strconv.ParseUint(string(b), 10, 64)
	return err == nil
}

// significantDigits returns how many digits of an Integer or Decimal are needed to write it: all from the first that is
// not 0, without zeros at the end of a fraction.
func significantDigits(b []byte) int {
	n, zeros := 0, 0
	fraction := false
	for _, c := range b {
		switch {
		case c == '.':
			fraction = true
		case c == '-' || c == '0' && n == 0:
		case c == '0' && fraction:
			zeros++
		default:
			n += zeros + 1
			zeros = 0
		}
	}
	return n
}

// number2 returns the number that the first two bytes of b are. It is negative if one is not a digit.
func number2(b []byte) int {
	if !isDigit(b[0]) || !isDigit(b[1]) {
		return -1
	}
	return int(b[0]-'0')*10 + int(b[1]-'0')
}

var daysOfMonth = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// dayOf returns the days from 1970-01-01 to a Day, which is negative before it. It reports whether b is a Day.
func dayOf(b []byte) (days int, ok bool) {
	if len(b) != len("2006-01-02") || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	century, rest, month, day := number2(b), number2(b[2:]), number2(b[5:]), number2(b[8:])
	if century < 0 || rest < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	year := century*100 + rest
	last := daysOfMonth[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		last++
	}
	if year == 0 || day > last {
		return 0, false
	}
	// Years that begin in March have their leap day at the end.
	if month <= 2 {
		year--
		month += 12
	}
	const before1970 = 719469 // days from 0000-03-01 to 1970-01-01, plus 1 because days of months begin with 1
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - before1970, true
}

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
)

// microsOf returns the microseconds from 1970-01-01 to a Time, which are negative before it. It reports whether b is a
// Time.
func microsOf(b []byte) (micros int64, ok bool) {
	const seconds = len("2006-01-02 15:04:05")
	if len(b) < seconds || b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	days, ok := dayOf(b[:10])
	hour, minute, second := number2(b[11:]), number2(b[14:]), number2(b[17:])
	if !ok || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, false
	}
	fraction := 0
	if len(b) > seconds {
		if b[seconds] != '.' || len(b) == seconds+1 || len(b) > seconds+7 || digits(b, seconds+1) != len(b) {
			return 0, false
		}
		for i := seconds + 1; i < seconds+7; i++ {
			fraction *= 10
			if i < len(b) {
				fraction += int(b[i] - '0')
			}
		}
	}
	return int64(days)*microsPerDay + int64(hour*3600+minute*60+second)*microsPerSecond + int64(fraction), true
}
