package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// dashed is a cell of a table that may be empty.
func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return plain(text)
}

// tableWidth is how many characters of a text a table has; error prints have less.
const tableWidth = 200

// show prints an answer in the form that was asked for.
func show(w io.Writer, output string, answer []byte, forPeople func(io.Writer, []byte) error) error {
	if output == "json" {
		return printJSON(w, answer)
	}
	return forPeople(w, answer)
}

func printJSON(w io.Writer, answer []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(answer), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 4, 2, ' ', 0) }

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// plain is a text of a platform as one cell of a table.
func plain(text string) string {
	text = clean(text)
	if r := []rune(text); len(r) > tableWidth {
		return string(r[:tableWidth-1]) + "…"
	}
	return text
}

// clean takes out what would move the cursor of a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// verb is the form of a verb that goes with so many.
func verb[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// more ends a table of which there may be more rows.
func more(t *tabwriter.Writer, next, filters string) error {
	if next != "" {
		fmt.Fprintf(t, "There are more: raise --limit, or choose by %s\n", filters)
	}
	return t.Flush()
}
