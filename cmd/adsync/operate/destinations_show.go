package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newDestinationsShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show NAME",
		Short: "Shows one destination",
		Long: `Shows one destination, and the subscriptions that deliver to it. Of its password and its key it shows only
whether there are any.`,
		Example: "  adsync destinations show depot",
		Args:    destinationArg,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, destinationPath(args[0]), show.Destination)
	})
}
