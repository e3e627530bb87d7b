package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const platformsPath = "/api/v1/platforms"

func newPlatforms(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "platforms",
		Short: "Shows and changes the platforms without Go code",
		Long: `Outside workers pull these platforms, by way of the job queue. Processes read them when they start: restart
them after a change.`,
		Example: `  adsync platforms put tenth --timezone Asia/Tokyo --currency USD
  adsync platforms accounts tenth t-1001 t-1002
  adsync platforms list`,
	})
	cmd.AddCommand(newPlatformsList(a), newPlatformsShow(a), newPlatformsPut(a), newPlatformsAccounts(a))
	return cmd
}

// platformArg takes the name of a platform without Go code.
var platformArg = usage.Args(1, `the name of a platform without Go code: "adsync platforms list" lists them`)

func platformPath(name string) string { return platformsPath + "/" + url.PathEscape(name) }
