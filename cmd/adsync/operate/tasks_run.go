package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newTasksRun(a *settings.Source) *cobra.Command {
	var accounts []string
	var params string
	var all, wait bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "run NAME",
		Short: "Runs a task now",
		Long: `Orders a run of a task, independently of its cron, also when it is disabled: for the accounts of --accounts,
or with --all for its whole scope, which a task without accounts has too; for the days from --from to --to, by
default the days that it always pulls. --params changes the task's params for this run. With --wait it
follows the run until it has ended, shows it, and exits with 1 unless everything was done.`,
		Example: `  adsync tasks run {media}.report_daily.account --all --dry-run
  adsync tasks run {media}.report_daily.account --accounts 20000001,20000058 --from 2026-11-18 --to 2026-11-20 --wait
  adsync tasks run {media}.report_daily.account --accounts 20000001 --from 2026-11-20 --to 2026-11-20 --confirm
  adsync tasks run warehouse.build --all --params '{"params": {"cube": "sales"}}'`,
		Args: taskArg,
	}, func(r *api.Request, args []string) error {
		switch named := r.Flags().Changed("accounts"); {
		case named && len(accounts) == 0:
			return usage.Errorf("--accounts is empty: want the platform's ids, or --all for the task's whole scope")
		case named && all:
			return usage.Errorf("--accounts and --all do not go together")
		case !named && !all:
			return usage.Errorf("want --accounts with the platform's ids, or --all for the task's whole scope")
		}
		body := r.Params()
		if body["dry_run"] != nil && wait {
			return usage.Errorf("--dry-run and --wait do not go together")
		}
		if r.Flags().Changed("params") {
			patch, err := jsonFlag("params", params)
			if err != nil {
				return err
			}
			body["params"] = patch
		}
		if all {
			body["scope"] = task.ScopeAll
		} else {
			body["accounts"] = accounts
		}
		answer, err := r.Call(http.MethodPost, taskPath(args[0])+"/run", body)
		if err != nil {
			return err
		}
		switch {
		case body["dry_run"] != nil:
			return api.Print(r, answer, show.OrderPlan)
		case !wait:
			return api.Print(r, answer, show.Order)
		}
		return await(r, answer)
	})
	cmd.Flags().StringSliceVar(&accounts, "accounts", nil, "for these accounts, by the platform's ids")
	cmd.Flags().BoolVar(&all, "all", false, "for the task's whole scope, instead of --accounts")
	api.Param(cmd, "from", "first day, such as 2026-11-15")
	api.Param(cmd, "to", "last day, inclusive")
	cmd.Flags().StringVar(&params, "params", "",
		`changes of the task's params as JSON: fields replace its own, and null removes one`)
	cmd.Flags().Bool("confirm", false, "accept the platform's answer even if it removes much; check on the platform first")
	cmd.Flags().Bool("spare", false, "use only calls that would otherwise be unused")
	cmd.Flags().Bool("dry-run", false, "order nothing, and estimate the subtasks, calls and time")
	api.SendFlags(cmd, "confirm", "spare", "dry-run")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the run until it has ended; exit with 1 unless everything was done")
	return cmd
}

// await follows the run that was ordered, shows its progress, and fails unless everything of it was done.
func await(r *api.Request, order []byte) error {
	var o client.Order
	if err := json.Unmarshal(order, &o); err != nil {
		return err
	}
	see := show.Nothing
	if !r.JSON() {
		if err := show.Order(r.OutOrStdout(), &o); err != nil {
			return err
		}
		see = show.Progress(r.OutOrStdout())
	}
	answer, run, err := r.FollowRun(o.RunID, see)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped waiting; the run continues: adsync runs show %s --watch", o.RunID)
	}
	if err == nil {
		err = api.Print(r, answer, show.Run)
	}
	if err != nil {
		return err
	}
	if run.State != client.RunStateSucceeded {
		return show.RunFailure(run)
	}
	return nil
}
