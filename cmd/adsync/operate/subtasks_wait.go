package operate

import (
	"cmp"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newSubtasksWait(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:   "wait RUN ACCOUNT_ID PART",
		Short: "Tells what a subtask waits for, and until when",
		Long: `Tells what one subtask waits for, named by the first columns of "adsync subtasks list" and "due": a retry, a call limit, a pause, or its turn.
The account may be named as MEDIA/ACCOUNT too. Below are the call limits that work as important as its own wants now.`,
		Example: `  adsync subtasks wait 7529853616300212345 12 2026-11-20
  adsync subtasks wait 7529853616300212345 {media}/20000001 2026-11-20`,
		Args: usage.Args(3, `RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`),
	}, func(r *request, args []string) error {
		path := "/api/v1/subtasks/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1]) + "/wait?part=" + url.QueryEscape(args[2])
		return r.get(path, printing(printWait))
	})
}

func printWait(w io.Writer, a *client.Wait) error {
	t := table.New(w)
	t.Pairs("task", a.Task+" of "+a.Media, "lane", a.Lane)
	if a.Importance > 0 {
		t.Pairs("importance", a.Importance)
	}
	t.Pairs("state", string(a.State), "failures", a.Attempt)
	if a.Node != "" {
		t.Pairs("consumer", a.Node)
	}
	nothing := "it waits for nothing"
	if a.State == client.SubtaskStateWaiting {
		nothing = "it waits for its turn in Kafka, or in a consumer"
	}
	t.Pairs("reason", table.Whole(cmp.Or(a.Reason, nothing)))
	if !a.ExpectedAt.IsZero() {
		t.Pairs("until", a.ExpectedAt)
	}
	if len(a.Limits) > 0 {
		fmt.Fprintln(t)
	}
	printCallLimits(t, a.Limits)
	if len(a.Pauses) > 0 {
		fmt.Fprintln(t)
	}
	printPausedPoints(t, a.Pauses)
	return t.Flush()
}
