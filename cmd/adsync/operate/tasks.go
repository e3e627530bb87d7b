package operate

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"

	"github.com/spf13/cobra"
)

const tasksPath = "/api/v1/tasks"

func newTasks(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "tasks",
		Short: "Shows, changes and runs tasks",
		Long: `A task says what is pulled, when, for which accounts, and how important it is: a row of cron_task. What these commands change is checked
before it is saved, and holds within a few seconds. They ask a producer's API. If it wants a token, set ` + settings.TokenVariable + `.`,
		Example: `  adsync tasks list
  adsync tasks edit {media}.report_daily.account --cron '*/5 * * * *'
  adsync tasks run {media}.report_daily.account --accounts 20000001 --from 2026-11-18 --to 2026-11-20 --wait`,
	})
	cmd.AddCommand(newTasksList(a), newTasksShow(a), newTasksCreate(a), newTasksEdit(a), newTasksSwitch(a, "enable", "on"), newTasksSwitch(a, "disable", "off"),
		newTasksRun(a), newTasksReload(a))
	return cmd
}

// taskArg takes the name of a task.
var taskArg = usage.Args(1, `the name of a task: "adsync tasks list" lists them`)

func taskPath(name string) string { return tasksPath + "/" + url.PathEscape(name) }

// taskState tells how a task stands, in words.
func taskState(t *client.Task) string {
	state := "off"
	if t.Enabled {
		state = "on"
	}
	switch t.Status {
	case client.TaskStatusGood:
		return state
	case client.TaskStatusLastGood:
		return state + ", as its row last was good"
	}
	return table.Plain(string(t.Status))
}

// taskRuns tells when a task runs, in words.
func taskRuns(t *client.Task) string {
	if len(t.After) > 0 {
		return "after " + table.Plain(strings.Join(t.After, ", "))
	}
	return strings.TrimSpace(table.Plain(t.Cron) + " " + table.Plain(t.Timezone))
}

// nextTick is when a task runs next.
func nextTick(t *client.Task) time.Time {
	if len(t.NextTicks) == 0 {
		return time.Time{}
	}
	return t.NextTicks[0]
}

// rowErrors lists what is wrong with a row, below what t has printed.
func rowErrors(t table.Table, errs []client.RowError) error {
	if len(errs) > 0 {
		t.Head("\nWRONG FIELD\tVALUE\tWANT")
	}
	for _, e := range errs {
		t.Row(e.Field, table.Dashed(e.Value), table.Whole(e.Want))
	}
	return t.Flush()
}

// warn lists what is probably not meant.
func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "Warning: %s.\n", table.Clean(text))
	}
}

// unlessZero is a number of seconds as a duration, or what none means.
func unlessZero(seconds int64, none string) string {
	if seconds == 0 {
		return none
	}
	return table.Seconds(&seconds)
}

// printChangedTask tells of a task that was changed what it comes to.
func printChangedTask(done string) printer {
	return printing(func(w io.Writer, k *client.Task) error {
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
	})
}
