package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

// subtaskPath is where the API shows a subtask, or something of it.
func subtaskPath(args []string, what string) string {
	return "/api/v1/subtasks/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1]) + what +
		"?part=" + url.QueryEscape(args[2])
}

func newSubtasksShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows a subtask, with the error of each delivery that failed",
		Long: `Shows one subtask, named by the first columns of "adsync subtasks list" and "due", and the error of each of its
deliveries that failed, the newest first. The errors are kept as long as the day's log. The account may be named as
MEDIA/ACCOUNT too.`,
		Example: `  adsync subtasks show 7529853616300212345 12 2026-11-20
  adsync subtasks show 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`),
	}, func(r *api.Request, args []string) error { return api.Get(r, subtaskPath(args, ""), show.Subtask) })
}
