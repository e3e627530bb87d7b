package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newTasksRun(a *settings.Source) *cobra.Command {
	var accounts []string
	var all, wait bool
	cmd := asking(a, &cobra.Command{
		Use:   "run NAME",
		Short: "Runs a task now",
		Long: `Orders a run of a task, whatever its cron says, also when it is disabled: of the accounts that --accounts names, or with --all of its
whole scope, which is also what a task without accounts has; of the days from --from to --to, or else of those that it always pulls. With --wait
it follows the run until that has ended, shows it, and exits 1 unless everything was done.`,
		Example: `  adsync tasks run {media}.report_daily.account --all --dry-run
  adsync tasks run {media}.report_daily.account --accounts 20000001,20000058 --from 2026-11-18 --to 2026-11-20 --wait
  adsync tasks run {media}.report_daily.account --accounts 20000001 --from 2026-11-20 --to 2026-11-20 --confirm`,
		Args: taskArg,
	}, func(r *request, args []string) error {
		switch named := r.Flags().Changed("accounts"); {
		case named && len(accounts) == 0:
			return usage.Errorf("--accounts is empty: want the platform's ids, or --all for the task's whole scope")
		case named && all:
			return usage.Errorf("--accounts and --all do not go together")
		case !named && !all:
			return usage.Errorf("want --accounts with the platform's ids, or --all for the task's whole scope")
		}
		body := r.params()
		if body["dry_run"] != nil && wait {
			return usage.Errorf("--dry-run and --wait do not go together")
		}
		if all {
			body["scope"] = task.ScopeAll
		} else {
			body["accounts"] = accounts
		}
		answer, err := r.answer(http.MethodPost, taskPath(args[0])+"/run", body)
		if err != nil {
			return err
		}
		switch {
		case body["dry_run"] != nil:
			return r.show(answer, printing(printOrderPlan))
		case !wait:
			return r.show(answer, printing(printOrder))
		}
		return r.await(answer)
	})
	cmd.Flags().StringSliceVar(&accounts, "accounts", nil, "of these accounts, by the platform's ids")
	cmd.Flags().BoolVar(&all, "all", false, "of the task's whole scope, instead of --accounts")
	param(cmd, "from", "first day, such as 2026-11-15")
	param(cmd, "to", "last day, included")
	cmd.Flags().Bool("confirm", false, "believe the answer, also where it takes away much: you have looked at the platform")
	cmd.Flags().Bool("spare", false, "only with calls that would pass unused")
	cmd.Flags().Bool("dry-run", false, "order nothing, and tell what it would come to")
	sends(cmd, "confirm", "spare", "dry-run")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the run until it has ended; exit 1 unless everything was done")
	return cmd
}

func printOrderPlan(w io.Writer, o *client.OrderPlan) error {
	_, err := fmt.Fprintf(w, "It would be %s of %s, %s. Nothing was ordered.\n", plural.Count(o.Subtasks, "subtask", "subtasks"), table.Plain(o.Task),
		estimated(o.EstimatedCalls, o.EstimatedSeconds))
	return err
}

func printOrder(w io.Writer, o *client.Order) error {
	_, err := fmt.Fprintf(w, "Ordered run %s of %s.\n", table.Plain(o.RunID), table.Plain(o.Task))
	return err
}

// failure says why a run that has ended is no success.
func failure(r *client.Run) error {
	text := fmt.Sprintf("the run %s has ended as %s", r.ID, r.State)
	if n := undone(&r.Counts); n > 0 {
		text += fmt.Sprintf(", and %d of its %s %s not done", n, subtasks(&r.Counts), verb(n, "was", "were"))
	}
	if r.Error != "" {
		text += ": " + table.Clean(r.Error)
	}
	return errors.New(text)
}

// await follows the run that was ordered, tells how far it is, and fails unless everything of it was done.
func (r *request) await(order []byte) error {
	var o client.Order
	if err := json.Unmarshal(order, &o); err != nil {
		return err
	}
	out := r.OutOrStdout()
	if r.output == "table" {
		if err := printOrder(out, &o); err != nil {
			return err
		}
	}
	_, terminal := prompt.Terminal(out)
	answer, run, err := r.follow(o.RunID, func(run *client.Run, moved bool) error {
		switch {
		case r.output == "json" || !isOpen(run) && !terminal:
		case terminal:
			fmt.Fprint(out, "\r\x1b[K") // The line is written over.
			if isOpen(run) {
				fmt.Fprint(out, progress(run))
			}
		case moved:
			fmt.Fprintln(out, progress(run))
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped waiting; the run goes on: adsync runs show %s --watch", o.RunID)
	}
	if err == nil {
		err = r.show(answer, printing(printRun))
	}
	if err != nil {
		return err
	}
	if run.State != client.RunStateSucceeded {
		return failure(run)
	}
	return nil
}
