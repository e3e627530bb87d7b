package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newPublicationsOrder(a *settings.Source) *cobra.Command {
	var order client.PublicationOrder
	cmd := api.Command(a, &cobra.Command{
		Use:   "order SUBSCRIPTION",
		Short: "Orders the files of a range of days",
		Long: `Orders a file for each period of the subscription that lies within a range of days and is over. A period
that has a file gets its next revision. An order has up to 366 files.`,
		Example: `  adsync publications order spend --from 2026-11-01 --to 2026-11-20 --dry-run
  adsync publications order spend --from 2026-11-20 --to 2026-11-20`,
		Args: subscriptionArg,
	}, func(r *api.Request, args []string) error {
		if order.From == "" || order.To == "" {
			return usage.Errorf("want --from and --to, such as --from 2026-11-01 --to 2026-11-20")
		}
		return api.Send(r, http.MethodPost, subscriptionPath(args[0])+"/publications", order, show.OrderedPublications)
	})
	cmd.Flags().StringVar(&order.From, "from", "", "the first day, such as 2026-11-01")
	cmd.Flags().StringVar(&order.To, "to", "", "the last day; the whole period must lie within both")
	cmd.Flags().BoolVar(&order.DryRun, "dry-run", false, "only show which files would be ordered")
	return cmd
}
