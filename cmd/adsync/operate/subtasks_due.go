package operate

import (
	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newSubtasksDue(a *settings.Source) *cobra.Command {
	cmd := listing(a, "/api/v1/due", "due", printDue, &cobra.Command{
		Use:   "due",
		Short: "Lists the subtasks that wait to be sent again",
		Long: `Lists the subtasks of all runs that wait to be sent again, those that are due first: for a retry after a failure (retrying), or for a call
limit, a pause or an older run of their task (deferred).`,
		Example: `  adsync subtasks due --media {media} --lane important
  adsync subtasks due --state retrying --text 'HTTP 502'`,
	})
	param(cmd, "media", "only of this platform")
	param(cmd, "lane", "only of this lane")
	param(cmd, "state", "only in this state: retrying or deferred")
	param(cmd, "text", "only with this in what they wait for")
	return cmd
}

var printDue = rowsOf("due", "No subtask waits to be sent again.", "RUN\tACCOUNT ID\tPART\tDUE\tTASK\tACCOUNT\tLANE\tSTATE\tFAILURES\tREASON",
	moreBy("--media, --lane, --text …"), func(t table.Table, d *client.WaitingSubtask) {
		why := d.Reason
		switch {
		case why != "":
		case d.WaitsForPause != "":
			why = "it waits for the end of the pause " + d.WaitsForPause
		case d.WaitsForRun != "":
			why = "it waits for the end of the run " + d.WaitsForRun
		}
		t.Row(d.RunID, d.AccountID, d.Part, d.DueAt, table.Dashed(d.Task), d.Media+"/"+d.Account, d.Lane, string(d.State), d.Attempts, table.Dashed(why))
	})
