package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newDestinationsDelete(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "delete NAME",
		Short: "Deletes a destination",
		Long: `Deletes a destination that no subscription delivers to, with its password and its key. The files there
stay.`,
		Example: "  adsync destinations delete depot",
		Args:    destinationArg,
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, destinationPath(args[0]), nil, show.DeletedDestination)
	})
}
