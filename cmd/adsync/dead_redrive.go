package main

import (
	"github.com/spf13/cobra"
)

func newDeadRedrive(a *app) *cobra.Command {
	f := &deadFlags{}
	var all, yes bool
	var rate int
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Takes dead subtasks up again, in new runs",
		Long: `Shows what would be taken up, and with --yes does it: for each task a run is made of just these accounts and
parts, with the task's settings as they are now. What fails again is dead again. It exits with 1 if the subtasks of some task were refused.`,
		Example: `  adsync dead redrive --print 'account ? has no permission'
  adsync dead redrive --task tencent.report_daily.account --since 24h --rate 50 --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body := f.body()
			if rate != 0 {
				body["rate"] = rate
			}
			return changeDead(a, cmd, f, "redrive", body, all, yes)
		},
	}
	f.common(cmd.Flags())
	f.filter(cmd.Flags())
	changeFlags(cmd.Flags(), &all, &yes)
	cmd.Flags().IntVar(&rate, "rate", 0, "subtasks a second of each run; without it what the task says")
	return cmd
}
