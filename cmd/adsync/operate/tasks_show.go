package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newTasksShow(a *settings.Source) *cobra.Command {
	return asking(a, &cobra.Command{
		Use:   "show NAME",
		Short: "Shows a task's settings and ticks, and what is wrong with its row",
		Long: `Shows a task's settings, its next ticks, its last ones with their runs, and what is wrong with its row if something is. Its JSON, changed,
is what "adsync tasks edit --file" takes.`,
		Example: `  adsync tasks show {media}.report_daily.account
  adsync tasks show {media}.report_daily.account --output json > task.json`,
		Args: taskArg,
	}, func(r *request, args []string) error { return r.get(taskPath(args[0]), printing(printTask)) })
}

func printTask(w io.Writer, k *client.Task) error {
	t := table.New(w)
	t.Pairs("task", k.Name, "state", taskState(k))
	if k.Status != client.TaskStatusUnusable {
		printSettings(t, k)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := rowErrors(t, k.Errors); err != nil {
		return err
	}
	warn(w, k.Warnings)
	if len(k.NextTicks) > 0 {
		fmt.Fprintln(w, "\nNEXT TICK")
		for _, at := range k.NextTicks {
			fmt.Fprintln(w, table.Moment(at))
		}
	}
	if len(k.LastTicks) > 0 {
		t.Head("\nLAST TICK\tMADE\tRUN\tSTATE")
		for _, l := range k.LastTicks {
			t.Row(l.PlannedAt, l.MadeAt, l.RunID, l.State)
		}
	}
	return t.Flush()
}

// printSettings prints what a task's row says.
func printSettings(t table.Table, k *client.Task) {
	t.Pairs("runs", table.Dashed(taskRuns(k)), "handler", k.Handler+" of "+k.Media)
	if len(k.Params) > 0 {
		t.Pairs("params", table.Whole(k.Params))
	}
	retries := "none"
	if k.RetryMax > 0 {
		retries = fmt.Sprintf("up to %d, the first after %s", k.RetryMax, table.Seconds(&k.RetryBaseSeconds))
	}
	catchUp := k.CatchUp
	if k.CatchUp != string(task.CatchUpNone) {
		catchUp += " of what was missed within " + table.Seconds(&k.CatchUpWindowSeconds)
	}
	if k.CatchUp == string(task.CatchUpAll) {
		catchUp += ", " + k.CatchUpOrder + ", " + unlessZero(k.CatchUpSpreadSeconds, "all at once")
	}
	concurrency := k.Concurrency
	if k.Concurrency == string(task.Exclusive) {
		concurrency += ", for " + table.Seconds(&k.ExclusiveMaxSeconds) + " at the most"
	}
	t.Pairs(
		"lane, scope", k.Lane+", "+table.Dashed(k.Scope),
		"timeout", table.Seconds(&k.TimeoutSeconds),
		"time to live", unlessZero(k.TTLSeconds, "without end"),
		"retries", retries,
		"overlap", k.Overlap,
		"catch up", catchUp,
		"concurrency", concurrency,
	)
	if k.FanOutRate > 0 {
		t.Pairs("fan-out", plural.Count(k.FanOutRate, "subtask", "subtasks")+" a second")
	}
	t.Pairs("revision", k.Revision)
}
