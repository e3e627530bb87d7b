package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newFieldsList(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the fields of reports and their states",
		Long: `Lists every field that a platform's package names, and every row of report_field. A field without REPORT or
LEVEL applies to all of them, except those with a row of their own. A field without METRIC is only in the JSON
of the raw rows.`,
		Example: `  adsync fields list --media {media}
  adsync fields list --state retired`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, fieldsPath, show.Fields.Print) })
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "state", "asked, trying, off, retired or refused; all if not given")
	return cmd
}
