package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
)

func newDeadRedrive(a *settings.Source) *cobra.Command {
	cmd := deadChange(a, func(r *api.Request, body map[string]any, yes bool) error {
		return redrive(r, redrivePath, body, yes)
	}, &cobra.Command{
		Use:   "redrive",
		Short: "Takes dead subtasks up again, in new runs",
		Long: `Shows what would be taken up, and with --yes does it: for each task a run is made of just these accounts and
parts, with the task's settings as they are now. What fails again is dead again. It exits with 1 if the subtasks of some task were refused.`,
		Example: `  adsync dead redrive --print 'account ? has no permission'
  adsync dead redrive --task {media}.report_daily.account --since 24h --rate 50 --yes`,
	})
	cmd.Flags().Int("rate", 0, "subtasks a second of each run; without it what the task says")
	api.SendFlags(cmd, "rate")
	return cmd
}
