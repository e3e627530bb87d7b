// Package table prints rows in columns, and JSON. Texts of platforms and people are printed without control
// characters: they do not move the cursor of a terminal.
package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// width is the number of characters of a text in a cell; error prints are shorter.
const width = 200

// Whole is a text that a cell has in full.
type Whole string

// Table collects rows and aligns their columns when it is flushed.
type Table struct {
	*tabwriter.Writer
}

// New returns a table without rows.
func New(w io.Writer) Table { return Table{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)} }

// Row adds a row. A time is printed in UTC, a nil number as unknown, and an empty text as a dash.
func (t Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = cell(c)
	}
	fmt.Fprintln(t, strings.Join(texts, "\t"))
}

// Pairs adds a row for each name and value, which alternate.
func (t Table) Pairs(namesAndValues ...any) {
	for i := 0; i < len(namesAndValues); i += 2 {
		t.Row(namesAndValues[i], namesAndValues[i+1])
	}
}

// cell returns a value as one cell. A text that is empty is a dash.
func cell(value any) string {
	switch v := value.(type) {
	case Whole:
		return Clean(string(v))
	case time.Time:
		return Moment(v)
	case *int64:
		if v == nil {
			return "unknown"
		}
		return strconv.FormatInt(*v, 10)
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.String { // A state, or another kind of text, is one too.
		return Dashed(v.String())
	}
	return fmt.Sprint(value)
}

// Moment returns a time in UTC, or a dash for the zero time.
func Moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// Seconds returns a number of seconds as a duration.
func Seconds(seconds *int64) string {
	if seconds == nil {
		return "unknown"
	}
	return (time.Duration(*seconds) * time.Second).String()
}

// Plain returns a text as one cell: without control characters, and cut to width.
func Plain(text string) string {
	text = Clean(text)
	if r := []rune(text); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text
}

// Dashed returns a text as one cell, or a dash if it is empty.
func Dashed(text string) string {
	if text == "" {
		return "-"
	}
	return Plain(text)
}

// Clean replaces control characters, which move the cursor of a terminal, with spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// JSON prints a JSON document with indents.
func JSON(w io.Writer, document []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(document), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// PrintJSON prints values as JSON with indents.
func PrintJSON(w io.Writer, values any) error {
	document, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return JSON(w, document)
}
