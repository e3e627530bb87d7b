package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newSubtasksDue(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, "/api/v1/due", show.Due, &cobra.Command{
		Use:   "due",
		Short: "Lists the subtasks that wait to be sent again",
		Long: `Lists the subtasks of all runs that wait to be sent again, those due first: for a retry after a failure
(retrying), or for a call limit, a pause or an older run of their task (deferred).`,
		Example: `  adsync subtasks due --media {media} --lane important
  adsync subtasks due --state retrying --text 'HTTP 502'`,
	})
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "lane", "only of this lane")
	api.Param(cmd, "state", "only in this state: retrying or deferred")
	api.Param(cmd, "text", "only with this in the reason")
	return cmd
}
