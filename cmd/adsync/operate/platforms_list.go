package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newPlatformsList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the platforms without Go code",
		Long:    `Lists the platforms without Go code, and whether the process that answers has read each.`,
		Example: "  adsync platforms list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, platformsPath, show.ExternalPlatforms.Print) })
}
