package main

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
)

func newTasksRun(a *app) *cobra.Command {
	f := &apiFlags{}
	var accounts []string
	var from, to string
	var all, confirm, spare, dry, wait bool
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Runs a task now",
		Long: `Orders a run of a task, whatever its cron says, also when it is disabled: of the accounts that --accounts names, or with --all of its
whole scope, which is also what a task without accounts has; of the days from --from to --to, or else of those that it always pulls. With --wait
it follows the run until that has ended, shows it, and exits 1 unless everything was done.`,
		Example: `  adsync tasks run tencent.report_daily.account --all --dry-run
  adsync tasks run tencent.report_daily.account --accounts 20000001,20000058 --from 2026-11-18 --to 2026-11-20 --wait
  adsync tasks run tencent.report_daily.account --accounts 20000001 --from 2026-11-20 --to 2026-11-20 --confirm`,
		Args: taskArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch named := cmd.Flags().Changed("accounts"); {
			case named && len(accounts) == 0:
				return usagef("--accounts is empty: want the platform's ids, or --all for the task's whole scope")
			case named && all:
				return usagef("--accounts and --all do not go together")
			case !named && !all:
				return usagef("want --accounts with the platform's ids, or --all for the task's whole scope")
			}
			if dry && wait {
				return usagef("--dry-run and --wait do not go together")
			}
			body := map[string]any{}
			if all {
				body["scope"] = task.ScopeAll
			}
			for name, value := range map[string]string{"from": from, "to": to} {
				if value != "" {
					body[name] = value
				}
			}
			for name, value := range map[string]bool{"confirm": confirm, "spare": spare, "dry_run": dry} {
				if value {
					body[name] = true
				}
			}
			if len(accounts) > 0 {
				body["accounts"] = accounts
			}
			if !wait {
				return f.call(a, cmd, http.MethodPost, taskPath(args[0])+"/run", nil, body, printOrder)
			}
			c, err := f.ask(a, cmd)
			if err != nil {
				return err
			}
			answer, err := c.call(cmd.Context(), http.MethodPost, taskPath(args[0])+"/run", nil, body)
			if err != nil {
				return err
			}
			return f.await(c, cmd, answer)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringSliceVar(&accounts, "accounts", nil, "of these accounts, by the platform's ids")
	cmd.Flags().BoolVar(&all, "all", false, "of the task's whole scope, instead of --accounts")
	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2026-11-15")
	cmd.Flags().StringVar(&to, "to", "", "last day, included")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "believe the answer, also where it takes away much: you have looked at the platform")
	cmd.Flags().BoolVar(&spare, "spare", false, "only with calls that would pass unused")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "order nothing, and tell what it would come to")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the run until it has ended; exit 1 unless everything was done")
	return cmd
}

func printOrder(w io.Writer, answer []byte) error {
	var o struct {
		RunID    string `json:"run_id"`
		Task     string
		DryRun   bool `json:"dry_run"`
		Subtasks int64
		Calls    *int64 `json:"estimated_calls"`
		Seconds  *int64 `json:"estimated_seconds"`
	}
	if err := json.Unmarshal(answer, &o); err != nil {
		return err
	}
	if o.DryRun {
		_, err := fmt.Fprintf(w, "It would be %s of %s, %s. Nothing was ordered.\n", plural.Count(o.Subtasks, "subtask", "subtasks"), plain(o.Task), estimate(o.Calls, o.Seconds))
		return err
	}
	_, err := fmt.Fprintf(w, "Ordered run %s of %s.\n", plain(o.RunID), plain(o.Task))
	return err
}

// failure says why a run that has ended is no success.
func (r *runRow) failure() error {
	text := fmt.Sprintf("the run %s has ended as %s", r.ID, r.State)
	if n := r.undone(); n > 0 {
		text += fmt.Sprintf(", and %d of its %s %s not done", n, r.subtasks(), verb(n, "was", "were"))
	}
	if r.Error != "" {
		text += ": " + clean(r.Error)
	}
	return errors.New(text)
}

// await follows the run that was ordered, tells how far it is, and fails unless everything of it was done.
func (f *apiFlags) await(c *apiClient, cmd *cobra.Command, order []byte) error {
	var o struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(order, &o); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.output == "table" {
		if err := printOrder(out, order); err != nil {
			return err
		}
	}
	_, terminal := terminalOf(out)
	answer, r, err := c.follow(cmd.Context(), o.RunID, cmd.ErrOrStderr(), func(_ []byte, r *runRow, moved bool) error {
		switch {
		case f.output == "json" || !r.open() && !terminal:
		case terminal:
			fmt.Fprint(out, "\r\x1b[K") // The line is written over.
			if r.open() {
				fmt.Fprint(out, r.progress())
			}
		case moved:
			fmt.Fprintln(out, r.progress())
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped waiting; the run goes on: adsync runs show %s --watch", o.RunID)
	}
	if err == nil {
		err = show(out, f.output, answer, printRun)
	}
	if err != nil {
		return err
	}
	if r.State != string(task.RunSucceeded) {
		return r.failure()
	}
	return nil
}
