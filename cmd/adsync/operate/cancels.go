package operate

import (
	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newCancels(a *settings.Source) *cobra.Command {
	return listing(a, cancelsPath, "cancels", printCancels, &cobra.Command{
		Use:     "cancels",
		Short:   "Lists what was cancelled",
		Long:    `Lists what was cancelled, by whom and why, the newest first. A cancel is active until it is carried out.`,
		Example: `  adsync cancels --limit 10`,
	})
}

var printCancels = rowsOf("cancels", "Nothing was cancelled.", "CANCEL\tKIND\tTARGET\tSTATE\tORDERED\tENDED\tBY\tREASON", "There are more: raise --limit.",
	func(t table.Table, c *client.Stop) {
		t.Row(c.ID, c.Kind, c.Target, c.State, c.OrderedAt, c.EndedAt, c.By, c.Reason)
	})
