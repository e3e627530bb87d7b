package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func newSubtasksWait(a *app) *cobra.Command {
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
