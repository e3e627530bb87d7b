package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/completion"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newRunsList(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, "/api/v1/runs", show.Runs, &cobra.Command{
		Use:   "list",
		Short: "Lists runs, the newest first",
		Long: `Lists runs, the newest first. FAILED counts the subtasks that ended without success: failed for good, expired
or cancelled.`,
		Example: `  adsync runs list --task {media}.report_daily.account --limit 10
  adsync runs list --state failed,partial,expired --media {media} --since 1h
  adsync runs list --since 2026-11-20T22:00:00Z --until 2026-11-21T06:00:00Z`,
	})
	api.Param(cmd, "task", "only of the task of this name")
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "state", "only in this state, or one of several with commas between them: "+
		strings.Join(completion.RunStates, ", "))
	api.Param(cmd, "under", "only runs that the subtasks of this run ordered")
	api.TimeParam(cmd, "since", "only runs made since: "+api.SinceSyntax+"1h")
	api.TimeParam(cmd, "until", "only runs made before: "+api.SinceSyntax+"1h")
	return cmd
}
