package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLanesShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "show LANE",
		Short:   "Shows one lane",
		Long:    `Shows one lane, what holds where its row says nothing, and the tasks that travel on it.`,
		Example: "  adsync lanes show normal",
		Args:    laneArg,
	}, func(r *api.Request, args []string) error { return api.Get(r, lanePath(args[0]), show.Lane) })
}
