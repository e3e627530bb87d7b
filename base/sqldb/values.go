package sqldb

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Values is a list of rows for a statement. A column with one value in all rows is not written into the list: it
// becomes an argument of the statement, because reading the list is most of a statement's cost.
type Values struct {
	Rows         int
	listedAlways []string // columns that are in the list even if they are constant
	json         bool     // the list may be one JSON text
	columns      []column
	constants    map[string]any // the values of the columns that are not in the list, by name
	last         column         // the column that was added last
}

// column is one column of a list. Exactly one of its functions is set, and returns the column's value in a row.
type column struct {
	name string
	int  func(row int) int64
	text func(row int) string
	time func(row int) Time
	any  func(row int) any

	width int  // the length of the longest text, in bytes
	since Time // a time is written as the milliseconds since this one
}

// NewValues returns a list of rows, at least one, for a statement that joins them to a table by the columns of key. Add
// all columns before In and List. Join its texts only to columns with the collation utf8mb4_bin, as those of the tables
// of subtasks: the server may read the list as JSON, and its texts then have that collation.
func (d *DB) NewValues(rows int, key ...string) *Values {
	v := &Values{Rows: rows, constants: map[string]any{}, json: d.readsJSON()}
	if d.dialect == SQLiteDialect {
		// If a part of the key is constant, SQLite prefers to search by it, and scans the whole list for each row that has
		// it.
		v.listedAlways = key
	}
	return v
}

// ValuesOf returns a list of the given rows, at least one, whose values are in the order of columns. It fits every
// table, because it is never JSON.
func (d *DB) ValuesOf(columns, key []string, rows [][]any) *Values {
	v := d.NewValues(len(rows), key...)
	v.json = false // The collations of the table's columns are not known.
	for c, name := range columns {
		v.add(column{name: name, any: func(row int) any { return rows[row][c] }}, allSame(rows, c))
	}
	return v
}

// Set adds a column that is equal in all rows.
func (v *Values) Set(name string, value any) {
	v.add(column{name: name, any: func(int) any { return value }}, true)
}

// Ints adds a column of whole numbers.
func (v *Values) Ints(name string, of func(row int) int64) {
	v.add(column{name: name, int: of}, equal(v.Rows, of))
}

// Texts adds a column of texts.
func (v *Values) Texts(name string, of func(row int) string) {
	c := column{name: name, text: of}
	same := equal(v.Rows, of)
	for i := 0; i < v.Rows && v.json && !same; i++ {
		text := of(i)
		c.width = max(c.width, len(text))
		// Invalid UTF-8 stays as it is, so that the database refuses it. JSON would replace it.
		v.json = len(text) <= jsonTextMax && utf8.ValidString(text)
	}
	v.add(c, same)
}

// Times adds a column of times.
func (v *Values) Times(name string, of func(row int) Time) {
	c := column{name: name, time: of}
	for i := 0; i < v.Rows && c.since.IsZero(); i++ {
		c.since = of(i)
	}
	v.add(c, equal(v.Rows, of))
}

func (v *Values) add(c column, same bool) {
	v.last = c
	if same && !slices.Contains(v.listedAlways, c.name) {
		v.constants[c.name] = c.value(0)
		return
	}
	v.columns = append(v.columns, c)
}

// listed returns the list's columns. A list needs one: if all columns are constant, the last one is put into it, and
// the list is not JSON.
func (v *Values) listed() []column {
	if len(v.columns) == 0 {
		delete(v.constants, v.last.name)
		v.columns, v.json = []column{v.last}, false
	}
	return v.columns
}

func (c column) value(row int) any {
	switch {
	case c.int != nil:
		return c.int(row)
	case c.text != nil:
		return c.text(row)
	case c.time != nil:
		return c.time(row)
	default:
		return c.any(row)
	}
}

func equal[T comparable](rows int, of func(row int) T) bool {
	first := of(0)
	for i := 1; i < rows; i++ {
		if of(i) != first {
			return false
		}
	}
	return true
}

// allSame reports whether all rows have the same value in a column. It compares only strings, whole numbers and Times;
// other values count as different.
func allSame(rows [][]any, column int) bool {
	first := rows[0][column]
	switch first.(type) {
	case string, int, int64, Time:
	default:
		return false
	}
	for _, row := range rows[1:] {
		if row[column] != first {
			return false
		}
	}
	return true
}

// ofList matches a column of the list in an expression: statements call the list o.
var ofList = regexp.MustCompile(`\bo\.([a-z_]+)`)

// In completes an SQL expression in which o.name stands for a column of v: a constant column becomes a placeholder, and
// a time in JSON is converted back. args are the values of the placeholders.
func (v *Values) In(expression string) (sql string, args []any) {
	listed := v.listed()
	sql = ofList.ReplaceAllStringFunc(expression, func(name string) string {
		if value, same := v.constants[name[len("o."):]]; same {
			args = append(args, value)
			return "?"
		}
		if i := slices.IndexFunc(listed, func(c column) bool { return "o."+c.name == name }); v.json && i >= 0 &&
			listed[i].time != nil {
			args = append(args, listed[i].since)
			return "(CAST(? AS DATETIME(3)) + INTERVAL " + name + " * 1000 MICROSECOND)"
		}
		return name
	})
	return sql, args
}

// List returns the derived table of v's rows without the constant columns, and its arguments.
func (d *DB) List(v *Values) (sql string, args []any) {
	listed := v.listed()
	if v.json {
		return jsonTable(listed), []any{v.asJSON()}
	}
	names := make([]string, len(listed))
	for i, c := range listed {
		names[i] = c.name
	}
	args = make([]any, 0, v.Rows*len(listed))
	for row := range v.Rows {
		for _, c := range listed {
			args = append(args, c.value(row))
		}
	}
	return ValueList(d, names, v.Rows), args
}

// jsonTextMax is the length in bytes of the longest text in a list that is written as JSON.
const jsonTextMax = 2048

// jsonTable returns the table of a JSON array of rows, each an array of its columns. A server reads it in two thirds
// of the time of a chain of SELECTs.
func jsonTable(columns []column) string {
	var b strings.Builder
	b.WriteString("JSON_TABLE(?, '$[*]' COLUMNS (")
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		kind := "BIGINT"
		if c.text != nil {
			// The width is a power of two, so that most lists have the same statement text.
			kind = fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
				max(16, 1<<bits.Len(uint(max(c.width-1, 0)))))
		}
		fmt.Fprintf(&b, "%s %s PATH '$[%d]'", c.name, kind, i)
	}
	b.WriteString("))")
	return b.String()
}

// asJSON returns the text that jsonTable reads.
func (v *Values) asJSON() string {
	b := make([]byte, 0, v.Rows*12*len(v.columns))
	b = append(b, '[')
	for row := range v.Rows {
		if row > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for i, c := range v.columns {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.appendJSON(b, row)
		}
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

func (c column) appendJSON(b []byte, row int) []byte {
	switch {
	case c.int != nil:
		return strconv.AppendInt(b, c.int(row), 10)
	case c.time != nil:
		t := c.time(row)
		if t.IsZero() {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, t.UnixMilli()-c.since.UnixMilli(), 10)
	default:
		return appendText(b, c.text(row))
	}
}

func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // Strings can always be encoded.
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// jsonProbe returns a query, and its result on a server that reads a list in JSON without changing a value.
func jsonProbe() (query string, args []driver.NamedValue, want []string) {
	numbers := []int64{math.MinInt64, -1, 0, math.MaxInt64}
	texts := []string{"", `"a\`, " 'é\n ", "\U0001f600\x00z"}
	first := time.Date(2026, 11, 21, 23, 59, 59, 999e6, time.UTC)
	times := []Time{{}, At(first), At(first.Add(time.Millisecond)), At(first.AddDate(-1, 0, 0))}
	shown := []string{"", "2026-11-21 23:59:59.999", "2026-11-22 00:00:00.000", "2025-11-21 23:59:59.999"}
	v := &Values{Rows: len(numbers), json: true, constants: map[string]any{}}
	v.Ints("number", func(row int) int64 { return numbers[row] })
	v.Texts("word", func(row int) string { return texts[row] })
	v.Times("moment", func(row int) Time { return times[row] })
	moment, momentArgs := v.In("o.moment")
	query = "SELECT CONCAT(o.number, '/', HEX(o.word), '/', CHAR_LENGTH(o.word), '/', COALESCE(CAST(" + moment +
		" AS DATETIME(3)), '')) FROM " + jsonTable(v.columns) + " AS o"
	for _, arg := range append(momentArgs, v.asJSON()) {
		if t, ok := arg.(Time); ok {
			arg = t.Format(TimeLayout)
		}
		args = append(args, driver.NamedValue{Ordinal: len(args) + 1, Value: arg})
	}
	for i, n := range numbers {
		want = append(want, fmt.Sprintf("%d/%X/%d/%s", n, texts[i], utf8.RuneCountInString(texts[i]), shown[i]))
	}
	return query, args, want
}
