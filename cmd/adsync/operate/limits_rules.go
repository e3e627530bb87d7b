package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

const limitRulesPath = "/api/v1/limits/rules"

func newLimitsRules(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "rules",
		Short: "Lists the call limits that are configured",
		Long: `Lists the rows of rate_limit, and the platforms' own limits of which no row says anything: these have no ID.
"adsync limits" shows how full the limits are.`,
		Example: `  adsync limits rules --media {media}`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, limitRulesPath, show.LimitRules.Print) })
	api.Param(cmd, "media", "only of this platform")
	return cmd
}
