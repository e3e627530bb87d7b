package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
)

const tasksPath = "/api/v1/tasks"

func (a *app) newTasks() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "tasks",
		Short: "Shows, changes and runs tasks",
		Long: `A task says what is pulled, when, for which accounts, and how important it is: a row of cron_task. What these commands change is checked
before it is saved, and holds within a few seconds. They ask a producer's API. If it wants a token, set ` + tokenVariable + `.`,
		Example: `  adsync tasks list
  adsync tasks edit tencent.report_daily.account --cron '*/5 * * * *'
  adsync tasks run tencent.report_daily.account --accounts 20000001 --from 2026-11-18 --to 2026-11-20 --wait`,
	})
	cmd.AddCommand(a.newTasksList(), a.newTasksShow(), a.newTasksCreate(), a.newTasksEdit(), a.newTasksSwitch("enable", "on"), a.newTasksSwitch("disable", "off"),
		a.newTasksRun(), a.newTasksReload())
	return cmd
}

// taskArg takes the name of a task.
func taskArg(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef(`want the name of a task: "adsync tasks list" lists them`)
	}
	return nil
}

func taskPath(name string) string { return tasksPath + "/" + url.PathEscape(name) }

type taskRow struct {
	ID             string
	Name           string
	Status         string // good, last_good or unusable
	Errors         []rowError
	Warnings       []string
	RowRevision    *int64 `json:"row_revision"`
	Enabled        bool
	Media          string
	Handler        string
	Params         json.RawMessage
	Cron           string
	Timezone       string
	Lane           string
	Scope          string
	TimeoutSeconds *int64 `json:"timeout_seconds"`
	TTLSeconds     int64  `json:"ttl_seconds"`
	RetryMax       int    `json:"retry_max"`
	RetryBase      *int64 `json:"retry_base_seconds"`
	Overlap        string
	CatchUp        string `json:"catch_up"`
	CatchUpWindow  *int64 `json:"catch_up_window_seconds"`
	CatchUpOrder   string `json:"catch_up_order"`
	CatchUpSpread  int64  `json:"catch_up_spread_seconds"`
	Concurrency    string
	ExclusiveMax   *int64 `json:"exclusive_max_seconds"`
	FanOutRate     int    `json:"fan_out_rate"`
	After          []string
	Revision       int64
	NextTicks      []time.Time `json:"next_ticks"`
	LastTicks      []struct {
		PlannedAt time.Time `json:"planned_at"`
		MadeAt    time.Time `json:"made_at"`
		RunID     string    `json:"run_id"`
		State     string
	} `json:"last_ticks"`
}

type rowError struct{ Field, Value, Want string }

// state tells how the task stands, in words.
func (t *taskRow) state() string {
	state := "off"
	if t.Enabled {
		state = "on"
	}
	switch t.Status {
	case "good":
		return state
	case "last_good":
		return state + ", as its row last was good"
	}
	return plain(t.Status)
}

// when tells when the task runs, in words.
func (t *taskRow) when() string {
	if len(t.After) > 0 {
		return "after " + plain(strings.Join(t.After, ", "))
	}
	return strings.TrimSpace(plain(t.Cron) + " " + plain(t.Timezone))
}

// next is when the task runs next.
func (t *taskRow) next() time.Time {
	if len(t.NextTicks) == 0 {
		return time.Time{}
	}
	return t.NextTicks[0]
}

func (a *app) newTasksList() *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Lists the tasks",
		Long:    `Lists the tasks by name, with their next tick and how the last one went. What is wrong with a row, "adsync tasks show" tells.`,
		Example: `  adsync tasks list`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, tasksPath, nil, nil, printTasks)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printTasks(w io.Writer, answer []byte) error {
	var a struct{ Tasks []taskRow }
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "There are no tasks.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "TASK\tSTATE\tLANE\tRUNS\tNEXT TICK\tLAST TICK\tITS RUN")
	for i := range a.Tasks {
		k := &a.Tasks[i]
		last, became := time.Time{}, "-"
		if len(k.LastTicks) > 0 {
			last, became = k.LastTicks[0].PlannedAt, k.LastTicks[0].State
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(k.Name), k.state(), dashed(k.Lane), dashed(k.when()), moment(k.next()), moment(last), plain(became))
	}
	return t.Flush()
}

func (a *app) newTasksShow() *cobra.Command {
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

// rowErrors lists what is wrong with a row, below what t has printed.
func rowErrors(t *tabwriter.Writer, errs []rowError) {
	if len(errs) == 0 {
		return
	}
	fmt.Fprintln(t, "\nWRONG FIELD\tVALUE\tWANT")
	for _, e := range errs {
		fmt.Fprintf(t, "%s\t%s\t%s\n", plain(e.Field), dashed(e.Value), clean(e.Want))
	}
}

// warn lists what is probably not meant.
func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "Warning: %s.\n", clean(text))
	}
}

// unlessZero is a number of seconds as a duration, or what none means.
func unlessZero(seconds int64, none string) string {
	if seconds == 0 {
		return none
	}
	return took(&seconds)
}

// newTasksSwitch makes a command that switches a task on or off.
func (a *app) newTasksSwitch(name, state string) *cobra.Command {
	f := &apiFlags{}
	long := "Switches a task on: it runs from its next tick on. What it missed while it was off is not caught up."
	if name == "disable" {
		long = `Switches a task off: it has no ticks any more. Runs that it has go on: "adsync cancel task NAME" ends them. It can be run by hand.`
	}
	cmd := &cobra.Command{
		Use:     name + " NAME",
		Short:   "Switches a task " + state,
		Long:    long,
		Example: "  adsync tasks " + name + " tencent.report_daily.account",
		Args:    taskArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(a, cmd, http.MethodPost, taskPath(args[0])+"/"+name, nil, nil, printChangedTask("Switched "+state))
		},
	}
	f.common(cmd.Flags())
	return cmd
}

// printChangedTask tells of a task that was changed what it comes to.
func printChangedTask(done string) func(io.Writer, []byte) error {
	return func(w io.Writer, answer []byte) error {
		var k taskRow
		if err := json.Unmarshal(answer, &k); err != nil {
			return err
		}
		text := "it is off"
		switch {
		case k.Status != "good":
			text = "it is " + k.state()
		case len(k.After) > 0 && k.Enabled:
			text = "it runs after " + plain(strings.Join(k.After, ", "))
		case k.Enabled:
			text = "it runs next at " + moment(k.next())
		}
		if k.Revision > 0 {
			text += fmt.Sprintf(" (revision %d)", k.Revision)
		}
		if _, err := fmt.Fprintf(w, "%s %s: %s.\n", done, plain(k.Name), text); err != nil {
			return err
		}
		warn(w, k.Warnings)
		return nil
	}
}

func (a *app) newTasksReload() *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reads the tasks' rows again, at once",
		Long: `Reads cron_task again after an edit by SQL, which would else be noticed within a minute: at once in the producer that answers, within a
few seconds in the others. It tells what has changed, and every row that cannot be used.`,
		Example: `  adsync tasks reload`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodPost, tasksPath+"/reload", nil, nil, printReload)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printReload(w io.Writer, answer []byte) error {
	var a struct {
		Tasks                   int
		Added, Changed, Removed []string
		Bad                     []struct {
			Name, Status string
			Errors       []rowError
		}
		Warnings []struct {
			Name     string
			Warnings []string
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s.\n", plural.Count(a.Tasks, "task can run", "tasks can run"))
	if len(a.Added)+len(a.Changed)+len(a.Removed) == 0 {
		fmt.Fprintln(w, "Nothing has changed.")
	}
	for _, of := range []struct {
		what  string
		names []string
	}{{"Added", a.Added}, {"Changed", a.Changed}, {"Removed", a.Removed}} {
		for _, name := range of.names {
			fmt.Fprintf(w, "%s %s.\n", of.what, plain(name))
		}
	}
	t := table(w)
	for _, b := range a.Bad {
		how := "cannot be used"
		if b.Status == "last_good" {
			how = "cannot be used, and runs on as it last was good"
		}
		fmt.Fprintf(t, "\nThe row of %s %s:", plain(b.Name), how)
		rowErrors(t, b.Errors)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, of := range a.Warnings {
		fmt.Fprintf(w, "\nThe cron of %s is probably not what is meant.\n", plain(of.Name))
		warn(w, of.Warnings)
	}
	return nil
}
