package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
)

func newDeadRedrive(a *settings.Source) *cobra.Command {
	cmd := deadCommand(a, func(r *api.Request, body map[string]any, yes bool) error {
		return redrive(r, redrivePath, body, yes)
	}, &cobra.Command{
		Use:   "redrive",
		Short: "Redrives dead subtasks, in new runs",
		Long: `Shows which dead subtasks would be redriven, and with --yes redrives them: each task gets a run of exactly
these accounts and parts, with the task's present settings. A subtask that fails again is dead again. It exits
with 1 if the subtasks of a task were refused.`,
		Example: `  adsync dead redrive --print 'account ? has no permission'
  adsync dead redrive --task {media}.report_daily.account --since 24h --rate 50 --yes`,
	})
	cmd.Flags().Int("rate", 0, "subtasks a second of each run (the task's own rate if not given)")
	api.SendFlags(cmd, "rate")
	return cmd
}
