package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newFieldsList(a *settings.Source) *cobra.Command {
	cmd := asking(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the fields of reports and their states",
		Long: `Lists every field that a platform's package asks for, and every row of report_field. One without REPORT or LEVEL holds for all
of them, but for those that a row of their own speaks of. One without METRIC stands in the raw rows' JSON alone.`,
		Example: `  adsync fields list --media {media}
  adsync fields list --state retired`,
	}, func(r *request, _ []string) error { return r.get(fieldsPath, printFields) })
	param(cmd, "media", "only of this platform")
	param(cmd, "state", "asked, trying, off, retired or refused; all if not given")
	return cmd
}

var printFields = rowsOf("fields", "There are no such fields.", "MEDIA\tFIELD\tREPORT\tLEVEL\tSTATE\tMETRIC\tRETIRED\tCHANGED\tBY\tREASON", "",
	func(t table.Table, f *client.Field) {
		if f.Note != "" {
			f.Reason = strings.TrimPrefix(f.Reason+"; not decided yet: "+f.Note, "; ")
		}
		t.Row(f.Media, f.Field, table.Dashed(f.Report), table.Dashed(f.Level), f.State, table.Dashed(f.Metric), f.RetiredAt, f.UpdatedAt, table.Dashed(f.By), table.Dashed(f.Reason))
	})
