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
		Short: "Tells which days are missing of all accounts, and orders them",
		Long: `Tells by task how many days coverage lacks within the reach of the tasks in cron_task: never pulled, partial, suspect, or
last pulled before they had settled. It says how many subtasks and calls it takes to fill them, and about how long. The task
system.fill orders them by itself, some at a time; --order orders the most important ones at once, of --media or with --all of all platforms.`,
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
	cmd.Flags().Int("max-subtasks", 0, "how many subtasks to order at the most, of each platform (2000 if not given)")
	api.SendFlags(cmd, "max-subtasks")
	return cmd
}
