package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const subscriptionsPath = "/api/v1/subscriptions"

func newSubscriptions(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "subscriptions",
		Short: "Shows and changes the report files that are made",
		Long: `A subscription is a report file that is made again for each period: the rows of a query, in a format, with a
name, delivered to a destination. "adsync publications" has the files, and orders those of past days.`,
		Example: `  adsync subscriptions list
  adsync subscriptions put spend --file spend.yaml
  adsync subscriptions show spend --output json`,
	})
	cmd.AddCommand(newSubscriptionsList(a), newSubscriptionsShow(a), newSubscriptionsPut(a), newSubscriptionsDelete(a))
	return cmd
}

// subscriptionArg takes the name of a subscription.
var subscriptionArg = usage.Args(1, `the name of a subscription: "adsync subscriptions list" lists them`)

func subscriptionPath(name string) string { return subscriptionsPath + "/" + url.PathEscape(name) }
