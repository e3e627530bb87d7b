package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newSubscriptionsShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show NAME",
		Short: "Shows one subscription with its query",
		Long: `Shows one subscription with its query, and why it makes no files if it cannot be used. "adsync subscriptions
put --file" takes its JSON after a change.`,
		Example: `  adsync subscriptions show spend
  adsync subscriptions show spend --output json > spend.json`,
		Args: subscriptionArg,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, subscriptionPath(args[0]), show.Subscription)
	})
}
