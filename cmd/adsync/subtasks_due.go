package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

func newSubtasksDue(a *app) *cobra.Command {
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
