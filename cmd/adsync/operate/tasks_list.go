package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newTasksList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the tasks",
		Long: `Lists the tasks by name, with their next tick and the result of the last one. "adsync tasks show" shows what
is wrong with a row.`,
		Example: `  adsync tasks list`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, tasksPath, show.Tasks.Print) })
}
