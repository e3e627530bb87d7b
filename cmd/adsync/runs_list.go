package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newRunsList(a *app) *cobra.Command {
	f := &listFlags{}
	var taskName, media, state, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists runs, the newest first",
		Long:  `Lists runs, the newest first. FAILED are the subtasks that ended without having been done: failed for good, expired or cancelled.`,
		Example: `  adsync runs list --task tencent.report_daily.account --limit 10
  adsync runs list --state failed,partial,expired --media tencent --since 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.list(a, cmd, "/api/v1/runs", given(map[string]string{"task": taskName, "media": media, "state": state, "since": sinceWhen(since)}), "runs", printRuns)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&taskName, "task", "", "only of the task of this name")
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&state, "state", "", "only in this state, or one of several with commas between them: "+strings.Join(runStates, ", "))
	cmd.Flags().StringVar(&since, "since", "", "only runs made since: a time such as 2026-11-21T10:30:00Z, or how long ago, such as 1h")
	return cmd
}

func printRuns(w io.Writer, answer []byte) error {
	var a struct {
		Runs []runRow
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Runs) == 0 {
		_, err := fmt.Fprintln(w, "There are no such runs.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "RUN\tTASK\tKIND\tSTATE\tPLANNED\tENDED\tSUBTASKS\tDONE\tFAILED\tNOTE")
	for i := range a.Runs {
		r := &a.Runs[i]
		note := strings.TrimPrefix(r.ordered()+"; "+r.Error, "; ")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", plain(r.ID), plain(r.Task), plain(r.Kind), plain(r.State), moment(r.PlannedAt), moment(r.EndedAt),
			r.total(), r.Counts.Succeeded+r.Counts.Superseded, r.undone(), dashed(strings.TrimSuffix(note, "; ")))
	}
	return more(t, a.Next, "--task, --state …")
}
