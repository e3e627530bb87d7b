package show

import (
	"fmt"
	"io"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// LogLevel prints the log level that is in force for a time.
func LogLevel(w io.Writer, o *client.LogLevel) error {
	if o.Level == "" {
		_, err := fmt.Fprintln(w, "All processes log at their configured level.")
		return err
	}
	who := "All processes"
	switch {
	case o.Node != "":
		who = "The process " + table.Plain(o.Node)
	case o.Role != "":
		who = "Processes of the role " + table.Plain(o.Role)
	}
	_, err := fmt.Fprintf(w, "%s: %s until %s, by %s.\n", who, o.Level, table.Moment(o.Until), table.Plain(o.By))
	return err
}
