package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newTasksReload(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "reload",
		Short: "Reads the tasks' rows again at once",
		Long: `Reads cron_task again at once after an edit by SQL, which is otherwise noticed within a minute. The producer
that answers has it at once, the others within a few seconds. It prints what has changed, and every row that
cannot be used.`,
		Example: `  adsync tasks reload`,
	}, func(r *api.Request, _ []string) error {
		return api.Send(r, http.MethodPost, tasksPath+"/reload", nil, show.Reload)
	})
}
