package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
)

func newTasksShow(a *app) *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Shows a task's settings and ticks, and what is wrong with its row",
		Long: `Shows a task's settings, its next ticks, its last ones with their runs, and what is wrong with its row if something is. Its JSON, changed,
is what "adsync tasks edit --file" takes.`,
		Example: `  adsync tasks show tencent.report_daily.account
  adsync tasks show tencent.report_daily.account --output json > task.json`,
		Args: taskArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(a, cmd, http.MethodGet, taskPath(args[0]), nil, nil, printTask)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printTask(w io.Writer, answer []byte) error {
	var k taskRow
	if err := json.Unmarshal(answer, &k); err != nil {
		return err
	}
	t := table(w)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("task", "%s", plain(k.Name))
	line("state", "%s", k.state())
	if k.Status != "unusable" {
		line("runs", "%s", dashed(k.when()))
		line("handler", "%s of %s", plain(k.Handler), plain(k.Media))
		if len(k.Params) > 0 {
			line("params", "%s", clean(string(k.Params)))
		}
		line("lane, scope", "%s, %s", plain(k.Lane), dashed(k.Scope))
		line("timeout", "%s", took(k.TimeoutSeconds))
		line("time to live", "%s", unlessZero(k.TTLSeconds, "without end"))
		retries := "none"
		if k.RetryMax > 0 {
			retries = fmt.Sprintf("up to %d, the first after %s", k.RetryMax, took(k.RetryBase))
		}
		line("retries", "%s", retries)
		line("overlap", "%s", plain(k.Overlap))
		catchUp := plain(k.CatchUp)
		if k.CatchUp != string(task.CatchUpNone) {
			catchUp += " of what was missed within " + took(k.CatchUpWindow)
		}
		if k.CatchUp == string(task.CatchUpAll) {
			catchUp += ", " + plain(k.CatchUpOrder) + ", " + unlessZero(k.CatchUpSpread, "all at once")
		}
		line("catch up", "%s", catchUp)
		concurrency := plain(k.Concurrency)
		if k.Concurrency == string(task.Exclusive) {
			concurrency += ", for " + took(k.ExclusiveMax) + " at the most"
		}
		line("concurrency", "%s", concurrency)
		if k.FanOutRate > 0 {
			line("fan-out", "%s a second", plural.Count(k.FanOutRate, "subtask", "subtasks"))
		}
		line("revision", "%d", k.Revision)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	rowErrors(t, k.Errors)
	if err := t.Flush(); err != nil {
		return err
	}
	warn(w, k.Warnings)
	if len(k.NextTicks) > 0 {
		fmt.Fprintln(w, "\nNEXT TICK")
		for _, at := range k.NextTicks {
			fmt.Fprintln(w, moment(at))
		}
	}
	if len(k.LastTicks) > 0 {
		fmt.Fprintln(t, "\nLAST TICK\tMADE\tRUN\tSTATE")
		for _, l := range k.LastTicks {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", moment(l.PlannedAt), moment(l.MadeAt), plain(l.RunID), plain(l.State))
		}
	}
	return t.Flush()
}
