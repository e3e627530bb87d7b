package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLanesDelete(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "delete LANE",
		Short: "Deletes a lane",
		Long: `Deletes a lane that no task and no open run travels on. In the place of a lane of one
platform that of every platform holds again, if there is one.`,
		Example: "  adsync lanes delete {media}:normal",
		Args:    laneArg,
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, lanePath(args[0]), nil, show.DeletedLane)
	})
}
