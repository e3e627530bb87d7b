package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/task"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newCoverageHoles(a *settings.Source) *cobra.Command {
	var order, all bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "holes",
		Short: "Counts the missing days of all accounts, and orders them",
		Long: `Counts, by task, the days that the tasks of cron_task cover and that are not trusted: never pulled, partial,
suspect, or last pulled before they had settled. It estimates the subtasks, the calls and the time that
filling them takes. The task system.fill orders them automatically, some at a time. --order orders the most
important ones at once, of --media or with --all of all platforms.`,
		Example: `  adsync coverage holes --media {media}
  adsync coverage holes --order --media {media} --max-subtasks 10000
  adsync coverage holes --order --all`,
	}, func(r *api.Request, _ []string) error {
		body := r.Params()
		media, subtasks := body["media"] != nil, body["max_subtasks"] != nil
		switch {
		case !order && subtasks:
			return usage.Errorf("--max-subtasks goes with --order")
		case !order && all:
			return usage.Errorf("--all goes with --order: without --media all platforms are listed")
		case !order:
			return api.Get(r, "/api/v1/coverage/holes", show.Holes)
		case media && all:
			return usage.Errorf("--media and --all do not go together")
		case all:
			body["scope"] = task.ScopeAll
		case !media:
			return usage.Errorf("--order wants --media, or --all for all platforms")
		}
		return api.Send(r, http.MethodPost, "/api/v1/coverage/fill", body, show.Holes)
	})
	api.Param(cmd, "media", "only of this platform")
	cmd.Flags().BoolVar(&order, "order", false, "order runs for them")
	cmd.Flags().BoolVar(&all, "all", false, "with --order: of all platforms, instead of --media")
	cmd.Flags().Int("max-subtasks", 0, "how many subtasks to order at most, for each platform (2000 if not given)")
	api.SendFlags(cmd, "max-subtasks")
	return cmd
}
