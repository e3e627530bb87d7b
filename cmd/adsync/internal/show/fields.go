package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Fields prints the fields of reports.
var Fields = List[client.Field]{
	Rows: "fields",
	none: "There are no such fields.",
	columns: columns[client.Field]{
		{"MEDIA", func(f *client.Field) any { return f.Media }},
		{"FIELD", func(f *client.Field) any { return f.Field }},
		{"REPORT", func(f *client.Field) any { return f.Report }},
		{"LEVEL", func(f *client.Field) any { return f.Level }},
		{"STATE", func(f *client.Field) any { return f.State }},
		{"METRIC", func(f *client.Field) any { return f.Metric }},
		{"RETIRED", func(f *client.Field) any { return f.RetiredAt }},
		{"CHANGED", func(f *client.Field) any { return f.UpdatedAt }},
		{"BY", func(f *client.Field) any { return f.By }},
		{"REASON", func(f *client.Field) any {
			if f.Note != "" {
				return strings.TrimPrefix(f.Reason+"; not decided yet: "+f.Note, "; ")
			}
			return f.Reason
		}},
	},
}

// ChangedField returns a function that prints a field whose state was changed. done is the verb, such as "Requests".
func ChangedField(done string) func(io.Writer, *client.Field) error {
	return func(w io.Writer, f *client.Field) error {
		where := "in all reports"
		if f.Report != "" {
			where = "in " + table.Plain(f.Report)
		}
		if f.Level != "" {
			where += " at level " + table.Plain(f.Level)
		}
		_, err := fmt.Fprintf(w, "%s %s of %s %s.\n", done, table.Plain(f.Field), table.Plain(f.Media), where)
		if err != nil || f.State != "trying" {
			return err
		}
		_, err = fmt.Fprintf(w, "It is tried with one call first. For the result: adsync fields list --media %s\n",
			table.Plain(f.Media))
		return err
	}
}
