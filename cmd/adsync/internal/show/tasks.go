package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Tasks prints tasks.
var Tasks = List[client.Task]{
	Rows: "tasks",
	none: "There are no tasks.",
	columns: columns[client.Task]{
		{"TASK", func(t *client.Task) any { return t.Name }},
		{"STATE", func(t *client.Task) any { return taskState(t) }},
		{"LANE", func(t *client.Task) any { return t.Lane }},
		{"RUNS", func(t *client.Task) any { return taskRuns(t) }},
		{"NEXT TICK", func(t *client.Task) any { return nextTick(t) }},
		{"LAST TICK", func(t *client.Task) any { return lastTick(t).PlannedAt }},
		{"ITS RUN", func(t *client.Task) any { return lastTick(t).State }},
	},
}

// lastTick returns when a task ran last; the zero value if it never did.
func lastTick(t *client.Task) client.Tick {
	if len(t.LastTicks) == 0 {
		return client.Tick{}
	}
	return t.LastTicks[0]
}

// Task prints a task with its ticks and what is wrong with its row.
func Task(w io.Writer, k *client.Task) error {
	t := table.New(w)
	t.Pairs("task", k.Name, "state", taskState(k))
	if k.Status != client.TaskStatusUnusable {
		taskSettings(t, k)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(k.Errors) > 0 {
		fmt.Fprintln(w)
		if err := rowErrors.print(w, k.Errors); err != nil {
			return err
		}
	}
	warn(w, k.Warnings)
	if len(k.NextTicks) > 0 {
		fmt.Fprintln(w, "\nNEXT TICK")
		for _, at := range k.NextTicks {
			fmt.Fprintln(w, table.Moment(at))
		}
	}
	if len(k.LastTicks) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return lastTicks.print(w, k.LastTicks)
}

var lastTicks = columns[client.Tick]{
	{"LAST TICK", func(t *client.Tick) any { return t.PlannedAt }},
	{"MADE", func(t *client.Tick) any { return t.MadeAt }},
	{"RUN", func(t *client.Tick) any { return t.RunID }},
	{"STATE", func(t *client.Tick) any { return t.State }},
}

// taskSettings prints the settings of a task's row.
func taskSettings(t table.Table, k *client.Task) {
	t.Pairs("runs", taskRuns(k), "handler", k.Handler+" of "+k.Media)
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
	if k.SerialKey != "" {
		concurrency += " by " + k.SerialKey
	}
	if k.Concurrency == string(task.Exclusive) {
		concurrency += " (" + k.ExclusiveOver + ")" + ", for " + table.Seconds(&k.ExclusiveMaxSeconds) + " at most"
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
	if k.Application != "" {
		t.Pairs("application", k.Application)
	}
	t.Pairs("revision", k.Revision)
}

// Reload prints what has changed in the tasks, and every row that cannot be used.
func Reload(w io.Writer, a *client.Reload) error {
	fmt.Fprintf(w, "%s.\n", plural.Count(a.Tasks, "task can run", "tasks can run"))
	if len(a.Added)+len(a.Changed)+len(a.Removed) == 0 {
		fmt.Fprintln(w, "Nothing has changed.")
	}
	for _, of := range []struct {
		what  string
		names []string
	}{{"Added", a.Added}, {"Changed", a.Changed}, {"Removed", a.Removed}} {
		for _, name := range of.names {
			fmt.Fprintf(w, "%s %s.\n", of.what, table.Plain(name))
		}
	}
	for _, b := range a.Bad {
		how := "cannot be used"
		if b.Status == client.TaskStatusLastGood {
			how = "cannot be used, and the task runs with its last good settings"
		}
		fmt.Fprintf(w, "\nThe row of %s %s:\n", table.Plain(b.Name), how)
		if err := rowErrors.print(w, b.Errors); err != nil {
			return err
		}
	}
	for _, of := range a.Warnings {
		fmt.Fprintf(w, "\nThe cron of %s is probably a mistake.\n", table.Plain(of.Name))
		warn(w, of.Warnings)
	}
	return nil
}

// taskState returns the state of a task in words.
func taskState(t *client.Task) string {
	state := "off"
	if t.Enabled {
		state = "on"
	}
	switch t.Status {
	case client.TaskStatusGood:
		return state
	case client.TaskStatusLastGood:
		return state + ", with its last good settings"
	}
	return table.Plain(string(t.Status))
}

// taskRuns returns in words when a task runs.
func taskRuns(t *client.Task) string {
	if len(t.After) > 0 {
		return "after " + table.Plain(strings.Join(t.After, ", "))
	}
	return strings.TrimSpace(table.Plain(t.Cron) + " " + table.Plain(t.Timezone))
}

// nextTick returns when a task runs next; zero if never.
func nextTick(t *client.Task) time.Time {
	if len(t.NextTicks) == 0 {
		return time.Time{}
	}
	return t.NextTicks[0]
}

var rowErrors = columns[client.RowError]{
	{"WRONG FIELD", func(e *client.RowError) any { return e.Field }},
	{"VALUE", func(e *client.RowError) any { return e.Value }},
	{"WANT", func(e *client.RowError) any { return table.Whole(e.Want) }},
}

// warn prints warnings.
func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "Warning: %s.\n", table.Clean(text))
	}
}

// unlessZero returns seconds as a duration, or none if they are 0.
func unlessZero(seconds int64, none string) string {
	if seconds == 0 {
		return none
	}
	return table.Seconds(&seconds)
}

// ChangedTask returns a function that prints a task which was changed. done is the verb, such as "Created".
func ChangedTask(done string) func(io.Writer, *client.Task) error {
	return func(w io.Writer, k *client.Task) error {
		text := "it is off"
		switch {
		case k.Status != client.TaskStatusGood:
			text = "it is " + taskState(k)
		case len(k.After) > 0 && k.Enabled:
			text = "it runs " + taskRuns(k)
		case k.Enabled:
			text = "it runs next at " + table.Moment(nextTick(k))
		}
		if k.Revision > 0 {
			text += fmt.Sprintf(" (revision %d)", k.Revision)
		}
		if _, err := fmt.Fprintf(w, "%s %s: %s.\n", done, table.Plain(k.Name), text); err != nil {
			return err
		}
		warn(w, k.Warnings)
		return nil
	}
}

// TaskToDelete prints a task that would be deleted.
func TaskToDelete(w io.Writer, k *client.Task) error {
	if err := Task(w, k); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nNothing was changed: add --yes to delete it.")
	return err
}

// DeletedTask prints a task that was deleted, and its runs that continue.
func DeletedTask(w io.Writer, d *client.DeletedTask) error {
	_, err := fmt.Fprintf(w, "Deleted the task %s.\n", table.Plain(d.Name))
	if len(d.OpenRuns) > 0 && err == nil {
		runs := plural.Count(len(d.OpenRuns), "open run continues", "open runs continue")
		_, err = fmt.Fprintf(w, "%s to the end: %s\n", runs, table.Clean(strings.Join(d.OpenRuns, ", ")))
	}
	return err
}
