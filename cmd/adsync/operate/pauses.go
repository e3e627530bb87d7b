package operate

import (
	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newPauses(a *settings.Source) *cobra.Command {
	var all bool
	cmd := asking(a, &cobra.Command{
		Use:     "pauses",
		Short:   "Lists what is paused",
		Long:    `Lists the pauses that hold work up now, the newest first; with --all also those that have ended.`,
		Example: `  adsync pauses --all`,
	}, func(r *request, _ []string) error {
		path := pausesPath + "?limit=500"
		if !all {
			path += "&state=active"
		}
		return r.get(path, printPauses)
	})
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}

var printPauses = rowsOf("pauses", "Nothing is paused.", "PAUSE\tKIND\tTARGET\tSTATE\tORDERED\tUNTIL\tENDED\tBY\tREASON", thereAreMore,
	func(t table.Table, p *client.Stop) {
		t.Row(p.ID, p.Kind, p.Target, p.State, p.OrderedAt, p.Until, p.EndedAt, p.By, p.Reason)
	})
