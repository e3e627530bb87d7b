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
		Short: "Tells how the call limits stand",
		Long: `Lists the limits that were asked for within the last day, but for those of single accounts: how many calls the period before now
holds, what part that is of what we allow ourselves, how many are granted for the next 2 s beside them, how many the last minute and the last hour had, and for each importance how many calls are wanted and how many a second are its
share. Below are the points at which calls are paused, or were, with how often.`,
		Example: `  adsync limits --media {media}`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/limits", show.Limits) })
	api.Param(cmd, "media", "only of this platform")
	cmd.AddCommand(newLimitsEndPause(a))
	return cmd
}
