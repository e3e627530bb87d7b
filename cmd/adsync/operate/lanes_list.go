package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLanesList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the lanes",
		Long:    `Lists the lanes with what holds for each, and how many tasks travel on it.`,
		Example: "  adsync lanes list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, lanesPath, show.Lanes.Print) })
}
