// Package show prints what commands found, for people.
package show

import (
	"encoding/json"
	"fmt"
	"io"

	"adsync/cmd/adsync/internal/table"
)

// List prints a list of the API.
type List[R any] struct {
	Rows string // the name of the rows in an answer

	none    string // printed when there are no rows
	more    string // printed below the rows when there are more
	columns columns[R]
}

// Print prints the rows of an answer.
func (l List[R]) Print(w io.Writer, answer *map[string]json.RawMessage) error {
	var rows []R
	var next string
	for name, into := range map[string]any{l.Rows: &rows, "next": &next} {
		if text := (*answer)[name]; text != nil {
			if err := json.Unmarshal(text, into); err != nil {
				return fmt.Errorf("read %q of the answer: %w", name, err)
			}
		}
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, l.none)
		return err
	}
	if err := l.columns.print(w, rows); err != nil || next == "" {
		return err
	}
	_, err := fmt.Fprintln(w, l.more)
	return err
}

// column is one column of rows: its name, and its value in a row.
type column[R any] struct {
	name  string
	value func(*R) any
}

// columns are the columns of rows, from left to right.
type columns[R any] []column[R]

// print prints rows below the names of the columns.
func (c columns[R]) print(w io.Writer, rows []R) error {
	t := table.New(w)
	cells := make([]any, len(c))
	for i := range c {
		cells[i] = c[i].name
	}
	t.Row(cells...)
	for i := range rows {
		for k := range c {
			cells[k] = c[k].value(&rows[i])
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// blankIf returns the columns with nothing in the rows for which again is true, as where a row continues the one above.
func (c columns[R]) blankIf(again func(*R) bool) columns[R] {
	blank := make(columns[R], len(c))
	for i, of := range c {
		blank[i] = column[R]{of.name, func(r *R) any {
			if again(r) {
				return table.Whole("")
			}
			return of.value(r)
		}}
	}
	return blank
}

const thereAreMore = "There are more."

// moreBy returns the line below a list that has more rows, with the flags that narrow it.
func moreBy(filters string) string { return "There are more: raise --limit, or choose by " + filters }
