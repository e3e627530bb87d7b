package main

import (
	"github.com/spf13/cobra"
)

func newDeadDrop(a *app) *cobra.Command {
	f := &deadFlags{}
	var all, yes bool
	cmd := &cobra.Command{
		Use:     "drop",
		Short:   "Drops dead subtasks",
		Long:    `Shows what would be dropped, and with --yes drops it. What is dropped is gone.`,
		Example: `  adsync dead drop --task tencent.report_daily.account --until 720h --yes`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeDead(a, cmd, f, "drop", f.body(), all, yes)
		},
	}
	f.common(cmd.Flags())
	f.filter(cmd.Flags())
	changeFlags(cmd.Flags(), &all, &yes)
	return cmd
}
