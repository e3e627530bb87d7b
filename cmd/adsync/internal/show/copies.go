package show

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// TableCopies prints the copies of tables.
var TableCopies = List[client.TableCopy]{
	Rows: "copies",
	none: "There are no copies.",
	columns: columns[client.TableCopy]{
		{"COPY", func(c *client.TableCopy) any { return c.Name }},
		{"SOURCE", func(c *client.TableCopy) any { return c.Source }},
		{"TABLE", func(c *client.TableCopy) any { return c.SourceTable }},
		{"STATE", func(c *client.TableCopy) any { return onOrOff(c.Enabled) }},
		{"LAST RUN", func(c *client.TableCopy) any { return c.RunAt }},
		{"ROWS", func(c *client.TableCopy) any { return c.Rows }},
		{"ERROR", func(c *client.TableCopy) any { return c.Error }},
	},
}

// TableCopy prints one copy of a table.
func TableCopy(w io.Writer, c *client.TableCopy) error {
	t := table.New(w)
	t.Pairs("copy", c.Name, "source", c.Source, "table", c.SourceTable, "target", c.Target, "key",
		strings.Join(c.KeyColumns, ", "), "cursor column", c.CursorColumn, "overlap seconds", c.OverlapSeconds)
	t.Pairs("window days", c.WindowDays, "day column", c.DayColumn, "state", onOrOff(c.Enabled), "cursor", c.Cursor,
		"last run", c.RunAt, "rows", c.Rows, "error", table.Whole(c.Error))
	return t.Flush()
}

// DeletedTableCopy prints a copy that was deleted.
func DeletedTableCopy(w io.Writer, c *client.TableCopy) error {
	_, err := fmt.Fprintf(w, "Deleted the copy %s. The table %s stays.\n", table.Plain(c.Name), table.Plain(c.Target))
	return err
}

// TableCopyCheck prints what is copied, or returns what is wrong.
func TableCopyCheck(w io.Writer, c *client.TableCopyCheck) error {
	if !c.Ok {
		return errors.New("the copy cannot run: " + table.Clean(strings.Join(c.Problems, "; ")))
	}
	text := "It can run. It copies " + strings.Join(c.Columns, ", ") + "."
	if len(c.LeftOut) > 0 {
		text += " It leaves out " + strings.Join(c.LeftOut, ", ") + "."
	}
	_, err := fmt.Fprintln(w, table.Clean(text))
	return err
}
