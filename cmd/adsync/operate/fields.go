package operate

import (
	"fmt"
	"io"
	"net/http"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"

	"github.com/spf13/cobra"
)

const fieldsPath = "/api/v1/fields"

func newFields(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "fields",
		Short: "Lists and changes which fields reports are asked for",
		Long: `A report is asked for the fields that the platform's package names, and what you add or drop here; a change holds
within half a minute. A field that you add is tried first: one call of one account asks for it, and pulls ask for it once the platform has
accepted it. What comes of it stands in the raw rows' JSON. A field that the platform takes away is retired by itself, and the report goes
on without it.`,
		Example: `  adsync fields list --state retired
  adsync fields add {media} order_pv`,
	})
	cmd.AddCommand(newFieldsList(a),
		newFieldsPut(a, "add", "asked", "Asks for one more field", "Asks for", `Asks for one more field of the platform's. It is tried at the end
of the next pull of any account: the first of its reports is asked for it with one call. If the platform refuses it, no other call asks for it, and adsync
fields list shows the platform's words. If the platform accepts it, each of its other reports is asked once, and pulls ask those that have it. For a field
that only some reports have, name them by --report and --level.`),
		newFieldsPut(a, "drop", "off", "Asks for a field no more", "No longer asks for", `Leaves a field out of the request: its column becomes NULL
in the days that are pulled from then on. For a field that the platform has retired it says that somebody has seen that. What rows are kept
apart by, and what was spent, cannot be dropped.`),
		newFieldsPut(a, "reinstate", "asked", "Asks again for a field that was dropped, retired or refused", "Asks again for", `Asks again for a field that
was dropped, or that the platform had retired or refused and has now. It is tried first, as one that is added. Order the days that lack it anew to fill them.`),
		newFieldsBackfill(a))
	return cmd
}

// newFieldsPut makes a command that brings a field to a state.
func newFieldsPut(a *settings.Source, name, state, short, done, long string) *cobra.Command {
	cmd := asking(a, &cobra.Command{
		Use:   name + " MEDIA FIELD",
		Short: short,
		Long: long + `

Without --report and --level it holds for all of them, and takes the place of what was said of single ones.`,
		Example: "  adsync fields " + name + " {media} order_pv\n" +
			"  adsync fields " + name + " {media} order_pv --report report_daily --level adgroup --reason 'for the shops'",
		Args: usage.MediaField,
	}, func(r *request, args []string) error {
		body := r.params()
		body["media"], body["field"], body["state"] = args[0], args[1], state
		return r.send(http.MethodPut, fieldsPath, body, printing(func(w io.Writer, f *client.Field) error {
			if _, err := fmt.Fprintf(w, "%s %s of %s %s.\n", done, table.Plain(f.Field), table.Plain(f.Media), reportsOf(f)); err != nil || f.State != "trying" {
				return err
			}
			_, err := fmt.Fprintf(w, "It is tried with one call first. What came of that: adsync fields list --media %s\n", table.Plain(f.Media))
			return err
		}))
	})
	param(cmd, "report", "only of this report, such as report_daily")
	param(cmd, "level", "only at this level, such as adgroup")
	param(cmd, "reason", "why")
	param(cmd, "by", "your name, where no token says it")
	return cmd
}

// reportsOf tells in words which reports a field is of.
func reportsOf(r *client.Field) string {
	where := "in all reports"
	if r.Report != "" {
		where = "in " + table.Plain(r.Report)
	}
	if r.Level != "" {
		where += " at level " + table.Plain(r.Level)
	}
	return where
}
