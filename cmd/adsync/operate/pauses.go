package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newPauses(a *settings.Source) *cobra.Command {
	var all bool
	cmd := api.Command(a, &cobra.Command{
		Use:     "pauses",
		Short:   "Lists what is paused",
		Long:    `Lists the pauses in force, the newest first; with --all also those that have ended.`,
		Example: `  adsync pauses --all`,
	}, func(r *api.Request, _ []string) error {
		path := pausesPath + "?limit=500"
		if !all {
			path += "&state=active"
		}
		return api.Get(r, path, show.Pauses.Print)
	})
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}
