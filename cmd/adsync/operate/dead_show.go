package operate

import (
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newDeadShow(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows all that is known of one dead subtask",
		Long:  `Shows one dead subtask, named by the first columns of "adsync dead list --rows", with its run and its log. The account may be named as MEDIA/ACCOUNT too.`,
		Example: `  adsync dead show 7529853616300212345 12 2026-11-20
  adsync dead show 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync dead list --rows" shows them`),
	}, func(r *request, args []string) error {
		query := url.Values{"run": {args[0]}, "account_id": {args[1]}, "part": {args[2]}}
		return r.get("/api/v1/dead/subtask?"+query.Encode(), printing(printDead))
	})
}

func printDead(w io.Writer, d *client.DeadSubtask) error {
	t := table.New(w)
	t.Pairs(
		"task", d.Task,
		"account", fmt.Sprintf("%s (our id %s), %s", d.Account, d.AccountID, d.Media),
		"part", d.Part,
		"died", table.Moment(d.DeadAt)+", after "+plural.Count(d.Attempts, "failure", "failures"),
		"error class", d.ErrorClass,
		"error print", d.ErrorPrint,
		"error", table.Whole(d.Error),
	)
	if d.RedriveRunID != "" {
		t.Pairs("taken up by", "run "+d.RedriveRunID)
	}
	if d.Run == nil {
		t.Pairs("run", d.RunID+", of which nothing is kept")
	} else {
		t.Pairs("run", fmt.Sprintf("%s (%s of %s), %s", d.RunID, d.Run.Kind, table.Moment(d.Run.PlannedAt), d.Run.State),
			"handler", d.Run.Handler+", lane "+d.Run.Lane)
	}
	if len(d.Params) > 0 {
		t.Pairs("params", table.Whole(d.Params))
	}
	if d.Log == nil {
		t.Pairs("log", "its day's table was dropped")
	} else {
		t.Pairs("log", fmt.Sprintf("sent %s, last begun %s on %s, %s in all", plural.Count(d.Log.Delivery, "time", "times"), table.Moment(d.Log.StartedAt),
			d.Log.Node, plural.Count(d.Log.Calls, "API call", "API calls")))
	}
	return t.Flush()
}
