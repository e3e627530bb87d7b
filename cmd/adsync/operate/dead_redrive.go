package operate

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

const redrivePath = "/api/v1/dead/redrive"

func newDeadRedrive(a *settings.Source) *cobra.Command {
	cmd := deadChange(a, func(r *request, body map[string]any, yes bool) error { return r.redrive(redrivePath, body, yes) }, &cobra.Command{
		Use:   "redrive",
		Short: "Takes dead subtasks up again, in new runs",
		Long: `Shows what would be taken up, and with --yes does it: for each task a run is made of just these accounts and
parts, with the task's settings as they are now. What fails again is dead again. It exits with 1 if the subtasks of some task were refused.`,
		Example: `  adsync dead redrive --print 'account ? has no permission'
  adsync dead redrive --task {media}.report_daily.account --since 24h --rate 50 --yes`,
	})
	cmd.Flags().Int("rate", 0, "subtasks a second of each run; without it what the task says")
	sends(cmd, "rate")
	return cmd
}

// redrive shows which dead subtasks a request would take up, and with yes takes up just those: what dies meanwhile is left alone.
func (r *request) redrive(path string, body map[string]any, yes bool) error {
	answer, plan, err := planDead(r, path, body, printRedrive)
	if err != nil {
		return err
	}
	var undone error
	if plan.Count > 0 && yes {
		if path == redrivePath { // What failed in one run needs no bound.
			body["until"] = plan.Until
		}
		if answer, plan, err = changeDead[client.Redrive](r, path, body, false); err != nil {
			return err
		}
		undone = refused(&plan)
	}
	switch out := r.OutOrStdout(); {
	case r.output == "json":
		return errors.Join(table.JSON(out, answer), undone)
	case plan.Count > 0 && !yes:
		fmt.Fprintln(out, nothingIsDone)
	case plan.Count > 0:
		fmt.Fprintln(out)
		for _, t := range plan.Tasks {
			if t.RunID != "" {
				fmt.Fprintf(out, "Ordered run %s of %s.\n", t.RunID, t.Task)
			}
		}
	}
	return undone
}

// refused returns an error if the dead subtasks of some tasks were not taken up.
func refused(p *client.Redrive) error {
	var refused []string
	for _, t := range p.Tasks {
		if t.Refused != "" {
			refused = append(refused, table.Clean(t.Task+": "+t.Refused))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("the dead subtasks of %s were not taken up: %s", plural.Count(len(refused), "task", "tasks"), strings.Join(refused, "; "))
}

func printRedrive(w io.Writer, p *client.Redrive) error {
	if len(p.Tasks) == 0 {
		fmt.Fprintln(w, noneChosen)
	} else {
		t := table.New(w)
		t.Head("TASK\tSUBTASKS\tCALLS\tTIME\tREFUSED")
		for _, k := range p.Tasks {
			t.Row(k.Task, k.Count, k.EstimatedCalls, table.Seconds(k.EstimatedSeconds), k.Refused)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s, %s.\n", plural.Count(p.Count, "dead subtask", "dead subtasks"), estimated(p.EstimatedCalls, p.EstimatedSeconds))
	}
	if p.Healed > 0 {
		atLeast := ""
		if p.HealedAtLeast {
			atLeast = "At least "
		}
		fmt.Fprintf(w, "%s%s\n", atLeast, plural.Count(p.Healed, "has healed: its days were pulled whole since, so it need not be taken up.",
			"have healed: their days were pulled whole since, so they need not be taken up."))
	}
	printRedriving(w, p.Redriving)
	return nil
}
