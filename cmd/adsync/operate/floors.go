package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newFloors(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "floors",
		Short: "Lists the exclusive subtasks that hold up others, or wait for that",
		Long: `Lists the exclusive subtasks that hold up others, or wait for that, in the order in which they asked: since
when and until when, and which consumers are not idle yet.`,
		Example: `  adsync floors`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/floors", show.Floors) })
}
