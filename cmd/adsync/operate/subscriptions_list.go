package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newSubscriptionsList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the subscriptions",
		Long:    `Lists the report files that are subscribed to. One that cannot be used makes no files; show has why.`,
		Example: "  adsync subscriptions list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, subscriptionsPath, show.Subscriptions.Print) })
}
