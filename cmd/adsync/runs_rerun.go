package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRunsRerun(a *app) *cobra.Command {
	f := &apiFlags{}
	var rate int
	var dry, yes bool
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Takes up what failed in a run, in a new run",
		Long: `Shows what would be taken up, and with --yes does it: a run is made of just the accounts and parts that failed for good in this one, with
the task's settings as they are now. It is "adsync dead redrive" of one run.`,
		Example: `  adsync runs rerun 7529853616300212345
  adsync runs rerun 7529853616300212345 --rate 50 --yes`,
		Args: runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry && yes {
				return usagef("--dry-run and --yes do not go together")
			}
			c, err := f.ask(a, cmd)
			if err != nil {
				return err
			}
			body := map[string]any{}
			if rate != 0 {
				body["rate"] = rate
			}
			path := runPath(args[0]) + "/rerun"
			answer, plan, err := c.plan(cmd.Context(), path, body, true)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if f.output == "table" {
				if err := printPlan(out, "redrive", plan); err != nil {
					return err
				}
			}
			if yes {
				if answer, plan, err = c.plan(cmd.Context(), path, body, false); err != nil {
					return err
				}
			}
			switch {
			case f.output == "json" && yes:
				return errors.Join(printJSON(out, answer), plan.undone("redrive"))
			case f.output == "json":
				return printJSON(out, answer)
			case yes:
				fmt.Fprintln(out)
				printOrdered(out, plan)
				return plan.undone("redrive")
			default:
				fmt.Fprintln(out, "\nNothing was changed: add --yes to do it.")
			}
			return nil
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().IntVar(&rate, "rate", 0, "subtasks a second; without it what the task says")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be taken up, as without --yes")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
