package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

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

type taskRow struct {
	Name, Media, Handler, Cron, Timezone, Lane, Scope, Overlap, Concurrency string

	Status         string // good, last_good or unusable
	Errors         []rowError
	Warnings       []string
	RowRevision    *int64 `json:"row_revision"`
	Enabled        bool
	Params         json.RawMessage
	TimeoutSeconds *int64 `json:"timeout_seconds"`
	TTLSeconds     int64  `json:"ttl_seconds"`
	RetryMax       int    `json:"retry_max"`
	RetryBase      *int64 `json:"retry_base_seconds"`
	CatchUp        string `json:"catch_up"`
	CatchUpWindow  *int64 `json:"catch_up_window_seconds"`
	CatchUpOrder   string `json:"catch_up_order"`
	CatchUpSpread  int64  `json:"catch_up_spread_seconds"`
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
	return table.Plain(t.Status)
}

// when tells when the task runs, in words.
func (t *taskRow) when() string {
	if len(t.After) > 0 {
		return "after " + table.Plain(strings.Join(t.After, ", "))
	}
	return strings.TrimSpace(table.Plain(t.Cron) + " " + table.Plain(t.Timezone))
}

// next is when the task runs next.
func (t *taskRow) next() time.Time {
	if len(t.NextTicks) == 0 {
		return time.Time{}
	}
	return t.NextTicks[0]
}

// rowErrors lists what is wrong with a row, below what t has printed.
func rowErrors(t table.Table, errs []rowError) error {
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
	return printing(func(w io.Writer, k *taskRow) error {
		text := "it is off"
		switch {
		case k.Status != "good":
			text = "it is " + k.state()
		case len(k.After) > 0 && k.Enabled:
			text = "it runs " + k.when()
		case k.Enabled:
			text = "it runs next at " + table.Moment(k.next())
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
