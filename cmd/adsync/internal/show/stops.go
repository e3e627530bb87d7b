package show

import (
	"fmt"
	"io"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Cancels prints what was cancelled.
var Cancels = List[client.Stop]{
	Rows: "cancels",
	none: "Nothing was cancelled.",
	more: "There are more: raise --limit.",
	columns: columns[client.Stop]{
		{"CANCEL", func(s *client.Stop) any { return s.ID }},
		{"KIND", func(s *client.Stop) any { return s.Kind }},
		{"TARGET", func(s *client.Stop) any { return s.Target }},
		{"STATE", func(s *client.Stop) any { return s.State }},
		{"ORDERED", func(s *client.Stop) any { return s.OrderedAt }},
		{"ENDED", func(s *client.Stop) any { return s.EndedAt }},
		{"BY", func(s *client.Stop) any { return s.By }},
		{"REASON", func(s *client.Stop) any { return s.Reason }},
	},
}

// Pauses prints what is paused.
var Pauses = List[client.Stop]{
	Rows: "pauses",
	none: "Nothing is paused.",
	more: thereAreMore,
	columns: columns[client.Stop]{
		{"PAUSE", func(s *client.Stop) any { return s.ID }},
		{"KIND", func(s *client.Stop) any { return s.Kind }},
		{"TARGET", func(s *client.Stop) any { return s.Target }},
		{"STATE", func(s *client.Stop) any { return s.State }},
		{"ORDERED", func(s *client.Stop) any { return s.OrderedAt }},
		{"UNTIL", func(s *client.Stop) any { return s.Until }},
		{"ENDED", func(s *client.Stop) any { return s.EndedAt }},
		{"BY", func(s *client.Stop) any { return s.By }},
		{"REASON", func(s *client.Stop) any { return s.Reason }},
	},
}

// Stop returns a function that prints an order which stops work. done is the verb: "Paused" or "Cancelled".
func Stop(done string) func(io.Writer, *client.Stop) error {
	return func(w io.Writer, s *client.Stop) error {
		end := ""
		if s.State == "active" && !s.Until.IsZero() {
			end = " until " + table.Moment(s.Until)
		}
		_, err := fmt.Fprintf(w, "%s %s %s%s, by order %s.\n", done, s.Kind, table.Plain(s.Target), end, s.ID)
		return err
	}
}
