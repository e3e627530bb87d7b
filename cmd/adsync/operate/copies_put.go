package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newCopiesPut(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "put NAME",
		Short: "Makes a copy of a table, or changes one",
		Long: `Makes a copy, or changes one; what is not given stays. With --cursor each run reads the rows that changed since
the last one. With --window-days and --day-column it reads the last days again, and deletes the rows of these days that
the source no longer has. With neither it reads the whole table and deletes what is gone. Create the table copy_NAME
of the data database, and run "adsync copies check NAME". With --target partner_daily it copies the business's own
figures: that table exists, and its columns, key and cursor are fixed.`,
		Example: `  adsync copies put orders --source erp --table orders --key id --cursor updated_at
  adsync copies put revenue --source bi --table finance.revenue --key day,shop --window-days 7 --day-column day
  adsync copies put orders --cursor seq --overlap-seconds 0
  adsync copies put partner --source warehouse --table games.partner_daily --target partner_daily`,
		Args: copyArg,
	}, func(r *api.Request, args []string) error {
		body := copyBody(r)
		if len(body) == 0 {
			return usage.Errorf("nothing is to be changed: give a field, such as --source")
		}
		return api.Send(r, http.MethodPut, copyPath(args[0]), body, show.TableCopy)
	})
	flags := cmd.Flags()
	for _, f := range copyTexts {
		flags.String(f[0], "", f[2])
	}
	api.AllowEmpty(cmd, "target")
	api.AllowEmpty(cmd, "cursor")
	api.AllowEmpty(cmd, "day-column")
	flags.StringSlice("key", nil, "the columns of the key of copy_NAME")
	flags.Int64("overlap-seconds", 0, "how far before the cursor a run begins to read; 0 for a cursor of numbers")
	flags.Int64("window-days", 0, "how many days each run reads again; 0 for none")
	flags.Bool("enabled", false, "whether it is copied; =false stops that")
	return cmd
}

// copyTexts are the fields of a copy that are texts: the flag, the field, and the help.
var copyTexts = [][3]string{
	{"source", "source", "the name of a database in the setting sources"},
	{"table", "source_table", "the table or view there; its schema may stand before a dot"},
	{"target", "target", "partner_daily for the business's own figures; empty for copy_NAME"},
	{"cursor", "cursor_column", "a column that rises with each change: a moment in UTC or a whole number; empty for none"},
	{"day-column", "day_column", "the column of the day, for --window-days; empty for none"},
}

// copyBody returns the fields that flags change.
func copyBody(r *api.Request) map[string]any {
	flags, body := r.Flags(), map[string]any{}
	for _, f := range copyTexts {
		if flags.Changed(f[0]) {
			body[f[1]], _ = flags.GetString(f[0]) // It is one, as the others are below.
		}
	}
	if flags.Changed("key") {
		body["key_columns"], _ = flags.GetStringSlice("key")
	}
	if flags.Changed("overlap-seconds") {
		body["overlap_seconds"], _ = flags.GetInt64("overlap-seconds")
	}
	if flags.Changed("window-days") {
		body["window_days"], _ = flags.GetInt64("window-days")
	}
	if flags.Changed("enabled") {
		body["enabled"], _ = flags.GetBool("enabled")
	}
	return body
}
