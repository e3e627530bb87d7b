package operate

import (
	"time"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newTasksList(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the tasks",
		Long:    `Lists the tasks by name, with their next tick and how the last one went. What is wrong with a row, "adsync tasks show" tells.`,
		Example: `  adsync tasks list`,
	}, func(r *request, _ []string) error { return r.get(tasksPath, printTasks) })
}

var printTasks = rowsOf("tasks", "There are no tasks.", "TASK\tSTATE\tLANE\tRUNS\tNEXT TICK\tLAST TICK\tITS RUN", "", func(t table.Table, k *client.Task) {
	last, became := time.Time{}, "-"
	if len(k.LastTicks) > 0 {
		last, became = k.LastTicks[0].PlannedAt, k.LastTicks[0].State
	}
	t.Row(k.Name, taskState(k), table.Dashed(k.Lane), table.Dashed(taskRuns(k)), nextTick(k), last, became)
})
