package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasks(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "subtasks",
		Short: "Lists subtasks, and shows what they wait for",
		Long: `A subtask is the work of a run for one account and one part, such as a day. Its run, our id of the account,
and its part name it: the first columns of the lists. "adsync dead" shows and redrives those that failed for
good.`,
		Example: `  adsync subtasks list --run 7529853616300212345 --state retrying
  adsync subtasks show 7529853616300212345 12 2026-11-20
  adsync subtasks due --media {media}
  adsync subtasks wait 7529853616300212345 12 2026-11-20`,
	})
	cmd.AddCommand(newSubtasksList(a), newSubtasksShow(a), newSubtasksDue(a), newSubtasksWait(a))
	return cmd
}
