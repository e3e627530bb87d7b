package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newRunsList(a *settings.Source) *cobra.Command {
	cmd := listing(a, "/api/v1/runs", "runs", printRuns, &cobra.Command{
		Use:   "list",
		Short: "Lists runs, the newest first",
		Long:  `Lists runs, the newest first. FAILED are the subtasks that ended without having been done: failed for good, expired or cancelled.`,
		Example: `  adsync runs list --task {media}.report_daily.account --limit 10
  adsync runs list --state failed,partial,expired --media {media} --since 1h`,
	})
	param(cmd, "task", "only of the task of this name")
	param(cmd, "media", "only of this platform")
	param(cmd, "state", "only in this state, or one of several with commas between them: "+strings.Join(runStates, ", "))
	instantParam(cmd, "since", "only runs made since: "+sinceSyntax+"1h")
	return cmd
}

var printRuns = rowsOf("runs", "There are no such runs.", "RUN\tTASK\tKIND\tSTATE\tPLANNED\tENDED\tSUBTASKS\tDONE\tFAILED\tNOTE", moreBy("--task, --state …"),
	func(t table.Table, r *client.Run) {
		note := strings.TrimSuffix(strings.TrimPrefix(ordered(r.Order, r.OriginRunID)+"; "+r.Error, "; "), "; ")
		t.Row(r.ID, r.Task, r.Kind, string(r.State), r.PlannedAt, r.EndedAt, total(&r.Counts), r.Counts.Succeeded+r.Counts.Superseded, undone(&r.Counts), table.Dashed(note))
	})
