package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasksWait(a *settings.Source) *cobra.Command {
	var account string
	cmd := api.Command(a, &cobra.Command{
		Use:   "wait [RUN ACCOUNT_ID PART]",
		Short: "Shows what a subtask, or each open one of an account, waits for, and until when",
		Long: `Shows what one subtask waits for: a retry, a call limit, a pause, or its place in the queue. The first columns
of "adsync subtasks list" and "due" name it; the account may also be named as MEDIA/ACCOUNT. Below are the
call limits that work of its importance needs now. With --account it shows all open subtasks of an account,
those of the newest run first.`,
		Example: `  adsync subtasks wait --account {media}/20000001
  adsync subtasks wait --account {media}/20000001 --task {media}.report_hourly.account
  adsync subtasks wait 7529853616300212345 12 2026-11-20
  adsync subtasks wait 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: func(cmd *cobra.Command, args []string) error {
			if account != "" {
				return usage.NoArgs(cmd, args)
			}
			return usage.Args(3, `--account, or RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`)(cmd, args)
		},
	}, func(r *api.Request, args []string) error {
		switch {
		case account == "" && r.Params()["task"] != nil:
			return usage.Errorf("--task goes with --account")
		case account == "":
			return api.Get(r, subtaskPath(args, "/wait"), show.Wait)
		}
		if err := usage.Account(nil, []string{account}); err != nil {
			return usage.Errorf("--account is %q: %w", account, err)
		}
		return api.Get(r, accountPath(account, "wait"), show.AccountWaits)
	})
	cmd.Flags().StringVar(&account, "account", "", "of this account, by the platform's id, such as {media}/20000001")
	api.Param(cmd, "task", "with --account: only those of the task of this name")
	return cmd
}
