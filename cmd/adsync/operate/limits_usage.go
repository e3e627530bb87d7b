package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLimitsUsage(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "usage",
		Short: "Shows what is left of the call limits, and who used them",
		Long: `Shows what is left of each call limit in its window: the limits of the longest periods first, then the fullest
first. Below are the API calls of the runs that were made since --since, by task, by lane and by account. These calls
are those to all endpoints of a platform, because adsync does not record calls by endpoint. A call counts when the
delivery that made it has ended.`,
		Example: `  adsync limits usage --media {media}
  adsync limits usage --since 24h
  adsync limits usage --since 2026-11-21T00:00:00+08:00`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/limits/usage", show.Usage) })
	api.Param(cmd, "media", "only of this platform")
	api.TimeParam(cmd, "since", "the calls of runs made since, midnight UTC by default: "+api.SinceSyntax+"1h")
	return cmd
}
