package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newPlatformsShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "show NAME",
		Short:   "Shows one platform without Go code",
		Long:    `Shows one platform without Go code with its call limits.`,
		Example: "  adsync platforms show tenth",
		Args:    platformArg,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, platformPath(args[0]), show.ExternalPlatform)
	})
}
