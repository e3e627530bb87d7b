package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newRunsRerun(a *settings.Source) *cobra.Command {
	var dry, yes bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "rerun ID",
		Short: "Redrives what failed in a run, in a new run",
		Long: `Shows what would be redriven, and with --yes redrives it: a new run has exactly the accounts and parts that
failed for good in this one, with the task's present settings. It is "adsync dead redrive" of one run.`,
		Example: `  adsync runs rerun 7529853616300212345
  adsync runs rerun 7529853616300212345 --rate 50 --yes`,
		Args: runArg,
	}, func(r *api.Request, args []string) error {
		if dry && yes {
			return usage.Errorf("--dry-run and --yes do not go together")
		}
		return redrive(r, runPath(args[0])+"/rerun", r.Params(), yes)
	})
	cmd.Flags().Int("rate", 0, "subtasks a second (the task's own rate if not given)")
	api.SendFlags(cmd, "rate")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be redriven, as without --yes")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
