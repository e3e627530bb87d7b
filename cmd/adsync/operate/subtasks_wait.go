package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasksWait(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "wait RUN ACCOUNT_ID PART",
		Short: "Tells what a subtask waits for, and until when",
		Long: `Tells what one subtask waits for, named by the first columns of "adsync subtasks list" and "due": a retry, a call limit, a pause, or its turn.
The account may be named as MEDIA/ACCOUNT too. Below are the call limits that work as important as its own wants now.`,
		Example: `  adsync subtasks wait 7529853616300212345 12 2026-11-20
  adsync subtasks wait 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`),
	}, func(r *api.Request, args []string) error {
		path := "/api/v1/subtasks/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1]) + "/wait?part=" + url.QueryEscape(args[2])
		return api.Get(r, path, show.Wait)
	})
}
