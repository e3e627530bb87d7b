package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

// subtaskPath returns the path of a subtask in the API, or of a part of it.
func subtaskPath(args []string, what string) string {
	return "/api/v1/subtasks/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1]) + what +
		"?part=" + url.QueryEscape(args[2])
}

func newSubtasksShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows a subtask, with the error of each failed delivery",
		Long: `Shows one subtask, and the error of each of its failed deliveries, the newest first. The first columns of
"adsync subtasks list" and "due" name it; the account may also be named as MEDIA/ACCOUNT. The errors are kept
as long as the day's log.`,
		Example: `  adsync subtasks show 7529853616300212345 12 2026-11-20
  adsync subtasks show 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`),
	}, func(r *api.Request, args []string) error { return api.Get(r, subtaskPath(args, ""), show.Subtask) })
}
