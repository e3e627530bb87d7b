package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newSubscriptionsDelete(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "delete NAME",
		Short: "Deletes a subscription",
		Long: `Deletes a subscription. Its open files are cancelled within a minute or two; delivered files, and the list of
files, stay. "adsync subscriptions put NAME --enabled=false" switches one off, and keeps it.`,
		Example: "  adsync subscriptions delete spend",
		Args:    subscriptionArg,
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, subscriptionPath(args[0]), nil, show.DeletedSubscription)
	})
}
