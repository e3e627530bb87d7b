package operate

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newCoverageHoles(a *settings.Source) *cobra.Command {
	var order, all bool
	cmd := asking(a, &cobra.Command{
		Use:   "holes",
		Short: "Tells which days are missing of all accounts, and orders them",
		Long: `Tells by task how many days coverage lacks within the reach of the tasks in cron_task: never pulled, partial, suspect, or
last pulled before they had settled. It says how many subtasks and calls it takes to fill them, and about how long. The task
system.fill orders them by itself, some at a time; --order orders the most important ones at once, of --media or with --all of all platforms.`,
		Example: `  adsync coverage holes --media {media}
  adsync coverage holes --order --media {media} --max-subtasks 10000
  adsync coverage holes --order --all`,
	}, func(r *request, _ []string) error {
		body := r.params()
		media, subtasks := body["media"] != nil, body["max_subtasks"] != nil
		switch {
		case !order && subtasks:
			return usage.Errorf("--max-subtasks goes with --order")
		case !order && all:
			return usage.Errorf("--all goes with --order: without --media all platforms are listed")
		case !order:
			return r.get("/api/v1/coverage/holes", printing(printHoles))
		case media && all:
			return usage.Errorf("--media and --all do not go together")
		case all:
			body["scope"] = task.ScopeAll
		case !media:
			return usage.Errorf("--order wants --media, or --all for all platforms")
		}
		return r.send(http.MethodPost, "/api/v1/coverage/fill", body, printing(printHoles))
	})
	param(cmd, "media", "only of this platform")
	cmd.Flags().BoolVar(&order, "order", false, "order runs for them")
	cmd.Flags().BoolVar(&all, "all", false, "with --order: of all platforms, instead of --media")
	cmd.Flags().Int("max-subtasks", 0, "how many subtasks to order at the most, of each platform (2000 if not given)")
	sends(cmd, "max-subtasks")
	return cmd
}

// estimated tells in words what work would cost, as far as is known.
func estimated(calls, seconds *int64) string {
	switch {
	case calls == nil && seconds == nil:
		return "its API calls and time are not known yet"
	case calls == nil:
		return "its API calls are not known yet, about " + table.Seconds(seconds)
	case seconds == nil:
		return "about " + plural.Count(*calls, "API call", "API calls") + ", its time is not known yet"
	}
	return "about " + plural.Count(*calls, "API call", "API calls") + ", about " + table.Seconds(seconds)
}

func printHoles(w io.Writer, a *client.Holes) error {
	if len(a.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is missing within the reach of the tasks.")
		return err
	}
	t := table.New(w)
	t.Head("TASK\tDAYS\tACCOUNTS\tFROM\tTO\tSUBTASKS\tCALLS\tTIME\tWAITING\tORDERED")
	for _, k := range a.Tasks {
		if k.Holes == 0 {
			k.From, k.To = "-", "-"
		}
		t.Row(k.Task, k.Holes, k.Accounts, k.From, k.To, k.Subtasks, k.EstimatedCalls, table.Seconds(k.EstimatedSeconds), k.Waiting, k.Ordered)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s missing: %s, %s; %s ordered.\n", plural.Count(a.Holes, "day is", "days are"), plural.Count(a.Subtasks, "subtask", "subtasks"),
		estimated(a.EstimatedCalls, a.EstimatedSeconds), plural.Count(a.Ordered, "of them was", "of them were"))
	if a.Waiting > 0 {
		fmt.Fprintf(w, "%s under way, or ordered a moment ago.\n", plural.Count(a.Waiting, "more is", "more are"))
	}
	return nil
}
