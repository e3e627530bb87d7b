package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newSubtasksList(a *app) *cobra.Command {
	f := &listFlags{}
	var run, account, since, until, state, text string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the subtasks of a run, or of an account",
		Long: `Lists the subtasks of a run, by account and part; or those of an account, of the runs that were made between --since and --until, or else
within the last day, the newest run first.`,
		Example: `  adsync subtasks list --run 7529853616300212345 --state retrying
  adsync subtasks list --account tencent/20000001 --since 72h --state failed`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := given(map[string]string{"state": state, "text": text, "since": sinceWhen(since), "until": sinceWhen(until)})
			switch {
			case (run == "") == (account == ""):
				return usagef("want --run ID or --account MEDIA/ACCOUNT")
			case run != "" && since+until != "":
				return usagef("--since and --until go with --account")
			case run != "":
				return f.list(a, cmd, runPath(run)+"/subtasks", query, "subtasks", printSubtasks)
			}
			if err := accountArg(nil, []string{account}); err != nil {
				return usagef("--account is %q: %w", account, err)
			}
			return f.list(a, cmd, accountPath(account, "subtasks"), query, "subtasks", printSubtasks)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&run, "run", "", "of the run with this id")
	cmd.Flags().StringVar(&account, "account", "", "of this account, by the platform's id, such as tencent/20000001")
	cmd.Flags().StringVar(&since, "since", "", "with --account: of runs made since, a time such as 2026-11-21T10:30:00Z, or how long ago, such as 72h")
	cmd.Flags().StringVar(&until, "until", "", "with --account: of runs made until then")
	cmd.Flags().StringVar(&state, "state", "", "only in this state: "+strings.Join(subtaskStates, ", "))
	cmd.Flags().StringVar(&text, "text", "", "only with this in the error's text")
	return cmd
}

func printSubtasks(w io.Writer, answer []byte) error {
	var a struct {
		Subtasks []struct {
			RunID                      string `json:"run_id"`
			AccountID                  string `json:"account_id"`
			Task, Account, Part, State string
			Attempts                   int
			Rows, Calls                int64
			StartedAt                  time.Time `json:"started_at"`
			EndedAt                    time.Time `json:"ended_at"`
			DueAt                      time.Time `json:"due_at"`
			Error                      string
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Subtasks) == 0 {
		_, err := fmt.Fprintln(w, "There are no such subtasks.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "RUN\tACCOUNT ID\tPART\tTASK\tACCOUNT\tSTATE\tFAILURES\tROWS\tCALLS\tSTARTED\tENDED\tDUE\tERROR")
	for _, s := range a.Subtasks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", plain(s.RunID), plain(s.AccountID), plain(s.Part), plain(s.Task), dashed(s.Account), plain(s.State),
			s.Attempts, s.Rows, s.Calls, moment(s.StartedAt), moment(s.EndedAt), moment(s.DueAt), dashed(s.Error))
	}
	return more(t, a.Next, "--state, --text …")
}
