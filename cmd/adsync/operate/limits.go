package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLimits(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "limits",
		Short: "Shows how far the call limits are used",
		Long: `Lists the limits that calls used within the last day, without those of single accounts: the calls within the
last period, the part that they are of what adsync allows itself, the calls granted for the next 2 s in
addition, those of the last minute and of the last hour, and for each importance the calls that wait and its
share in calls a second. Below are the points at which calls are or were paused, and how often.`,
		Example: `  adsync limits --media {media}
  adsync limits usage --media {media}`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/limits", show.Limits) })
	api.Param(cmd, "media", "only of this platform")
	cmd.AddCommand(newLimitsRules(a), newLimitsSet(a), newLimitsDelete(a), newLimitsEndPause(a), newLimitsUsage(a))
	return cmd
}
