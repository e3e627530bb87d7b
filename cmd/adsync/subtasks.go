package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) newSubtasks() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "subtasks",
		Short: "Lists subtasks, and tells what they wait for",
		Long: `A subtask is what a run does for one account and one part, such as a day. It is named by its run, our id of the account, and the part: the
first columns of the lists. Those that failed for good, "adsync dead" shows and repeats.`,
		Example: `  adsync subtasks list --run 7529853616300212345 --state retrying
  adsync subtasks due --media tencent
  adsync subtasks wait 7529853616300212345 12 2026-11-20`,
	})
	cmd.AddCommand(a.newSubtasksList(), a.newSubtasksDue(), a.newSubtasksWait())
	return cmd
}

func (a *app) newSubtasksList() *cobra.Command {
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

func (a *app) newSubtasksDue() *cobra.Command {
	f := &listFlags{}
	var media, lane, state, text string
	cmd := &cobra.Command{
		Use:   "due",
		Short: "Lists the subtasks that wait to be sent again",
		Long: `Lists the subtasks of all runs that wait to be sent again, those that are due first: for a retry after a failure (retrying), or for a call
limit, a pause or an older run of their task (deferred).`,
		Example: `  adsync subtasks due --media tencent --lane important
  adsync subtasks due --state retrying --text 'HTTP 502'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := given(map[string]string{"media": media, "lane": lane, "state": state, "text": text})
			return f.list(a, cmd, "/api/v1/due", query, "due", printDue)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&lane, "lane", "", "only of this lane")
	cmd.Flags().StringVar(&state, "state", "", "only in this state: retrying or deferred")
	cmd.Flags().StringVar(&text, "text", "", "only with this in what they wait for")
	return cmd
}

func printDue(w io.Writer, answer []byte) error {
	var a struct {
		Due []struct {
			RunID                                   string `json:"run_id"`
			AccountID                               string `json:"account_id"`
			Task, Account, Part, Media, Lane, State string
			Attempts                                int
			DueAt                                   time.Time `json:"due_at"`
			Reason                                  string
			WaitsForRun                             string `json:"waits_for_run"`
			WaitsForPause                           string `json:"waits_for_pause"`
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Due) == 0 {
		_, err := fmt.Fprintln(w, "No subtask waits to be sent again.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "RUN\tACCOUNT ID\tPART\tDUE\tTASK\tACCOUNT\tLANE\tSTATE\tFAILURES\tREASON")
	for _, d := range a.Due {
		why := d.Reason
		if why == "" {
			switch {
			case d.WaitsForPause != "":
				why = "it waits for the end of the pause " + d.WaitsForPause
			case d.WaitsForRun != "":
				why = "it waits for the end of the run " + d.WaitsForRun
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", plain(d.RunID), plain(d.AccountID), plain(d.Part), moment(d.DueAt), dashed(d.Task),
			plain(d.Media+"/"+d.Account), plain(d.Lane), plain(d.State), d.Attempts, dashed(why))
	}
	return more(t, a.Next, "--media, --lane, --text …")
}

func (a *app) newSubtasksWait() *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "wait RUN ACCOUNT_ID PART",
		Short: "Tells what a subtask waits for, and until when",
		Long: `Tells what one subtask waits for, named by the first columns of "adsync subtasks list" and "due": a retry, a call limit, a pause, or its turn.
The account may be named as MEDIA/ACCOUNT too. Below are the call limits that work as important as its own wants now.`,
		Example: `  adsync subtasks wait 7529853616300212345 12 2026-11-20
  adsync subtasks wait 7529853616300212345 tencent/20000001 2026-11-20`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usagef(`want RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/api/v1/subtasks/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1]) + "/wait"
			return f.call(a, cmd, http.MethodGet, path, url.Values{"part": {args[2]}}, nil, printWait)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printWait(w io.Writer, answer []byte) error {
	var a struct {
		limitsAnswer

		Task, Media, Lane, State, Node, Reason string
		Importance, Attempt                    int
		ExpectedAt                             time.Time `json:"expected_at"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	t := table(w)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("task", "%s of %s", plain(a.Task), plain(a.Media))
	line("lane", "%s", plain(a.Lane))
	if a.Importance > 0 {
		line("importance", "%d", a.Importance)
	}
	line("state", "%s", plain(a.State))
	line("failures", "%d", a.Attempt)
	if a.Node != "" {
		line("consumer", "%s", plain(a.Node))
	}
	why := a.Reason
	switch {
	case why != "":
	case a.State == "waiting":
		why = "it waits for its turn in Kafka, or in a consumer"
	default:
		why = "it waits for nothing"
	}
	line("reason", "%s", clean(why))
	if !a.ExpectedAt.IsZero() {
		line("until", "%s", moment(a.ExpectedAt))
	}
	if len(a.Limits) > 0 {
		fmt.Fprintln(t)
	}
	a.limits(t)
	if len(a.Pauses) > 0 {
		fmt.Fprintln(t)
	}
	a.pauses(t)
	return t.Flush()
}
