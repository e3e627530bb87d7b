package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasksList(a *settings.Source) *cobra.Command {
	var run, account string
	cmd := askingForRows(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the subtasks of a run, or of an account",
		Long: `Lists the subtasks of a run, by account and part; or those of an account, of the runs that were made between --since and --until, or else
within the last day, the newest run first.`,
		Example: `  adsync subtasks list --run 7529853616300212345 --state retrying
  adsync subtasks list --account {media}/20000001 --since 72h --state failed`,
	}, func(r *request, _ []string) error {
		switch given := r.params(); {
		case (run == "") == (account == ""):
			return usage.Errorf("want --run ID or --account MEDIA/ACCOUNT")
		case run != "" && (given["since"] != nil || given["until"] != nil):
			return usage.Errorf("--since and --until go with --account")
		case run != "":
			return r.list(runPath(run)+"/subtasks", "subtasks", printSubtasks)
		}
		if err := usage.Account(nil, []string{account}); err != nil {
			return usage.Errorf("--account is %q: %w", account, err)
		}
		return r.list(accountPath(account, "subtasks"), "subtasks", printSubtasks)
	})
	cmd.Flags().StringVar(&run, "run", "", "of the run with this id")
	cmd.Flags().StringVar(&account, "account", "", "of this account, by the platform's id, such as {media}/20000001")
	instantParam(cmd, "since", "with --account: of runs made since, "+sinceSyntax+"72h")
	instantParam(cmd, "until", "with --account: of runs made until then")
	param(cmd, "state", "only in this state: "+strings.Join(subtaskStates, ", "))
	param(cmd, "text", "only with this in the error's text")
	return cmd
}

var printSubtasks = rowsOf("subtasks", "There are no such subtasks.",
	"RUN\tACCOUNT ID\tPART\tTASK\tACCOUNT\tSTATE\tFAILURES\tROWS\tCALLS\tSTARTED\tENDED\tDUE\tERROR", moreBy("--state, --text …"), func(t table.Table, s *client.Subtask) {
		t.Row(s.RunID, s.AccountID, s.Part, s.Task, table.Dashed(s.Account), string(s.State), s.Attempts, s.Rows, s.Calls, s.StartedAt, s.EndedAt, s.DueAt, table.Dashed(s.Error))
	})
