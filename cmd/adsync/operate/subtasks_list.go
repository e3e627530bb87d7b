package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/completion"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasksList(a *settings.Source) *cobra.Command {
	var run, account string
	cmd := api.LimitedCommand(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the subtasks of a run, or of an account",
		Long: `Lists the subtasks of a run, by account and part; or those of an account in the runs made between --since and
--until, by default within the last day, the newest run first.`,
		Example: `  adsync subtasks list --run 7529853616300212345 --state retrying
  adsync subtasks list --account {media}/20000001 --since 72h --state failed`,
	}, func(r *api.Request, _ []string) error {
		switch given := r.Params(); {
		case (run == "") == (account == ""):
			return usage.Errorf("want --run ID or --account MEDIA/ACCOUNT")
		case run != "" && (given["since"] != nil || given["until"] != nil):
			return usage.Errorf("--since and --until go with --account")
		case run != "":
			return api.List(r, runPath(run)+"/subtasks", show.Subtasks)
		}
		if err := usage.Account(nil, []string{account}); err != nil {
			return usage.Errorf("--account is %q: %w", account, err)
		}
		return api.List(r, accountPath(account, "subtasks"), show.Subtasks)
	})
	cmd.Flags().StringVar(&run, "run", "", "of the run with this id")
	cmd.Flags().StringVar(&account, "account", "", "of this account, by the platform's id, such as {media}/20000001")
	api.TimeParam(cmd, "since", "with --account: of runs made since, "+api.SinceSyntax+"72h")
	api.TimeParam(cmd, "until", "with --account: of runs made until then")
	api.Param(cmd, "state", "only in this state: "+strings.Join(completion.SubtaskStates, ", "))
	api.Param(cmd, "text", "only with this in the error's text")
	return cmd
}
