package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newDeadShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows all that is known of one dead subtask",
		Long: `Shows one dead subtask with its run and its log. The first columns of "adsync dead list --rows" name it. The
account may also be named as MEDIA/ACCOUNT.`,
		Example: `  adsync dead show 7529853616300212345 12 2026-11-20
  adsync dead show 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync dead list --rows" shows them`),
	}, func(r *api.Request, args []string) error {
		query := url.Values{"run": {args[0]}, "account_id": {args[1]}, "part": {args[2]}}
		return api.Get(r, "/api/v1/dead/subtask?"+query.Encode(), show.DeadSubtask)
	})
}
