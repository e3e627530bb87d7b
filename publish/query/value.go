package query

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/sqldb"
	"adsync/publish/format"
)

// scaleMax is the largest scale of a Decimal.
const scaleMax = 30

// columnOf returns the column that a database describes. First is its value in the first row, for SQLite.
func columnOf(t *sql.ColumnType, first any, dialect sqldb.Dialect) (format.Column, error) {
	c := format.Column{Name: t.Name()}
	if dialect == sqldb.SQLiteDialect {
		c.Type, c.Scale = sqliteType(t.DatabaseTypeName(), first)
	} else {
		c.Type = mysqlType(t.DatabaseTypeName())
		if _, scale, known := t.DecimalSize(); known && c.Type == format.Decimal {
			c.Scale = int(scale)
		}
		if c.Type < 0 {
			return c, fmt.Errorf("the column %s is %s: want a CAST to another type", c.Name, t.DatabaseTypeName())
		}
	}
	if c.Scale > scaleMax {
		return c, fmt.Errorf("the column %s has %d digits after the point: want at most %d", c.Name, c.Scale, scaleMax)
	}
	return c, nil
}

// mysqlType returns the type of a column of MySQL or MariaDB, and -1 for columns without a text. TINYINT(1) is an
// Integer, because the server describes it as TINYINT.
func mysqlType(declared string) format.Type {
	switch strings.TrimPrefix(declared, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		return format.Integer
	case "DECIMAL":
		return format.Decimal
	case "FLOAT", "DOUBLE":
		return format.Float
	case "DATE":
		return format.Day
	case "DATETIME", "TIMESTAMP":
		return format.Time
	case "BIT", "GEOMETRY", "VECTOR":
		return -1
	}
	return format.Text
}

// sqliteDecimal matches a declared decimal with its scale.
var sqliteDecimal = regexp.MustCompile(`^(?:DECIMAL|NUMERIC) *\( *\d+ *, *(\d+) *\)$`)

// sqliteType returns the type of a column of SQLite: the declared one, in the order in which SQLite reads a
// declaration, or without one that of a value.
func sqliteType(declared string, first any) (t format.Type, scale int) {
	contains := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(declared, part) {
				return true
			}
		}
		return false
	}
	if found := sqliteDecimal.FindStringSubmatch(declared); found != nil {
		scale, _ = strconv.Atoi(found[1]) // It is a number of digits; a large one is above the maximum.
		return format.Decimal, scale
	}
	switch {
	case declared == "DATE":
		return format.Day, 0
	case contains("DATETIME", "TIMESTAMP"):
		return format.Time, 0
	case contains("BOOL"):
		return format.Bool, 0
	case contains("INT"):
		return format.Integer, 0
	case contains("CHAR", "CLOB", "TEXT"):
		return format.Text, 0
	case contains("REAL", "FLOAT", "DOUBLE"):
		return format.Float, 0
	}
	switch first.(type) {
	case int64:
		return format.Integer, 0
	case float64:
		return format.Float, 0
	case time.Time:
		return format.Time, 0
	}
	return format.Text, 0
}

// canonical appends the canonical text of a value that database/sql has written as a text.
func canonical(to, value []byte, c format.Column) ([]byte, error) {
	switch c.Type {
	case format.Integer:
		return appendInteger(to, value)
	case format.Decimal:
		return appendDecimal(to, value, c.Scale)
	case format.Float:
		return appendFloat(to, value)
	case format.Bool:
		return appendBool(to, value)
	case format.Day:
		return appendDay(to, value)
	case format.Time:
		return appendTime(to, value)
	case format.Text:
	}
	if !utf8.Valid(value) {
		return nil, fmt.Errorf("%.40q is no UTF-8: want a text, or HEX of the bytes", value)
	}
	return append(to, value...), nil
}

// errType returns the error for a value that is not of its column's type.
func errType(value []byte, want string) error {
	return fmt.Errorf("%.40q is not of the column's type: want %s, or a CAST", value, want)
}

func appendInteger(to, value []byte) ([]byte, error) {
	digits := value
	if len(value) > 0 && value[0] == '-' {
		digits = value[1:]
	}
	if len(digits) == 0 || len(digits) > 20 || !isDigits(digits) {
		return nil, errType(value, "a whole number")
	}
	return append(to, value...), nil
}

func isDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func appendDecimal(to, value []byte, scale int) ([]byte, error) {
	text := value
	if strings.ContainsAny(string(value), "eE") { // SQLite keeps a large or small decimal as a float.
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return nil, errType(value, "a decimal number")
		}
		text = strconv.AppendFloat(nil, f, 'f', -1, 64)
	}
	whole, fraction, _ := strings.Cut(string(text), ".")
	if digits := strings.TrimPrefix(whole, "-"); digits == "" || !isDigits([]byte(digits+fraction)) {
		return nil, errType(value, "a decimal number")
	}
	if len(fraction) > scale {
		return nil, errType(value, fmt.Sprintf("at most %d digits after the point", scale))
	}
	to = append(to, whole...)
	if scale > 0 {
		to = append(to, '.')
		to = append(to, fraction...)
		for range scale - len(fraction) {
			to = append(to, '0')
		}
	}
	return to, nil
}

func appendFloat(to, value []byte) ([]byte, error) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, errType(value, "a finite number")
	}
	return strconv.AppendFloat(to, f, 'g', -1, 64), nil
}

func appendBool(to, value []byte) ([]byte, error) {
	switch string(value) {
	case "0", "false":
		return append(to, '0'), nil
	case "1", "true":
		return append(to, '1'), nil
	}
	return nil, errType(value, "0 or 1")
}

// appendDay takes a day, and a time at midnight, as which the drivers return a DATE.
func appendDay(to, value []byte) ([]byte, error) {
	text, err := appendTime(to, value)
	if err != nil {
		return nil, errType(value, "a day")
	}
	day, midnight := text[:len(to)+len(time.DateOnly)], text[len(to)+len(time.DateOnly):]
	if string(midnight) != " 00:00:00" {
		return nil, errType(value, "a day without a time")
	}
	return day, nil
}

// appendTime takes a day or a time, with a T or a space between day and time, and without a zone or in UTC.
func appendTime(to, value []byte) ([]byte, error) {
	const day, second = len(time.DateOnly), len(time.DateTime)
	begin := len(to)
	if len(value) == day {
		to = append(to, value...)
		to = append(to, " 00:00:00"...)
	} else {
		text := bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("Z")), []byte("+00:00"))
		if len(text) < second || text[day] != 'T' && text[day] != ' ' {
			return nil, errType(value, "a time")
		}
		fraction := text[second:]
		digits, pointed := bytes.CutPrefix(fraction, []byte("."))
		if len(fraction) > 0 && (!pointed || len(digits) == 0 || len(digits) > 6 || !isDigits(digits)) {
			return nil, errType(value, "at most six digits of a second, in UTC")
		}
		to = append(to, text...)
		to[begin+day] = ' '
	}
	if c := (format.Column{Type: format.Time}); !c.Holds(to[begin:]) {
		return nil, errType(value, "a time")
	}
	return to, nil
}
