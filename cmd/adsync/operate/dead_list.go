package operate

import (
	"strconv"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newDeadList(a *settings.Source) *cobra.Command {
	var rows bool
	cmd := api.LimitedCommand(a, &cobra.Command{
		Use:   "list",
		Short: "Lists dead subtasks, grouped by error or one by one",
		Long: `Groups dead subtasks by their error print: the error's text without its numbers, ids and quoted parts. With
--rows it lists them one by one, those that died last first. A subtask is healed when all days that it covers
were pulled whole since. A healed subtask needs nothing, and is dropped after retention.healed_days.`,
		Example: `  adsync dead list
  adsync dead list --media {media} --since 24h
  adsync dead list --rows --print 'timeout after ?' --limit 20`,
	}, func(r *api.Request, _ []string) error {
		if rows {
			return api.List(r, "/api/v1/dead", show.DeadSubtasks)
		}
		if r.Limit() > client.PageRows {
			return usage.Errorf("--limit is %d: want 1 or more, and up to %d without --rows", r.Limit(), client.PageRows)
		}
		return api.Get(r, "/api/v1/dead/groups?limit="+strconv.Itoa(r.Limit()), show.DeadGroups)
	})
	deadFilter(cmd)
	cmd.Flags().BoolVar(&rows, "rows", false, "list the subtasks one by one")
	cmd.Flags().Lookup("limit").Usage = "how many groups or rows to list at most"
	return cmd
}
