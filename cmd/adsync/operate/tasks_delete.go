package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newTasksDelete(a *settings.Source) *cobra.Command {
	var yes bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "delete NAME",
		Short: "Deletes a task",
		Long: `Shows the task, and with --yes deletes it. It has no ticks then. Its open runs continue to their end, and
are printed: "adsync cancel run ID" ends one. What is in the log and in the tables stays; its dead subtasks can only be
dropped. A task that others start after is not deleted. "adsync tasks disable" switches a task off, and keeps its
settings.`,
		Example: "  adsync tasks delete {media}.report_daily.second_look --yes",
		Args:    taskArg,
	}, func(r *api.Request, args []string) error {
		if !yes {
			return api.Get(r, taskPath(args[0]), show.TaskToDelete)
		}
		return api.Send(r, http.MethodDelete, taskPath(args[0]), nil, show.DeletedTask)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
