package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newTasksShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show NAME",
		Short: "Shows a task's settings and ticks, and what is wrong with its row",
		Long: `Shows a task's settings, its next ticks, its last ticks with their runs, and what is wrong with its row, if
anything. "adsync tasks edit --file" takes its JSON after a change.`,
		Example: `  adsync tasks show {media}.report_daily.account
  adsync tasks show {media}.report_daily.account --output json > task.json`,
		Args: taskArg,
	}, func(r *api.Request, args []string) error { return api.Get(r, taskPath(args[0]), show.Task) })
}
