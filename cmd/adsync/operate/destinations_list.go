package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newDestinationsList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the destinations",
		Long:    `Lists the places where report files are delivered, and how many subscriptions deliver to each.`,
		Example: "  adsync destinations list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, destinationsPath, show.Destinations.Print) })
}
