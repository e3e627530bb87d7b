package show

import (
	"fmt"
	"io"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Holes prints the days that are missing, by task.
func Holes(w io.Writer, a *client.Holes) error {
	if len(a.Tasks) == 0 {
		_, err := fmt.Fprintln(w, "No day that the tasks cover is missing.")
		return err
	}
	if err := holes.print(w, a.Tasks); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s missing: %s, %s; %s ordered.\n", plural.Count(a.Holes, "day is", "days are"),
		plural.Count(a.Subtasks, "subtask", "subtasks"),
		estimated(a.EstimatedCalls, a.EstimatedSeconds), plural.Count(a.Ordered, "of them was", "of them were"))
	if a.Waiting > 0 {
		fmt.Fprintf(w, "%s under way, or ordered a moment ago.\n", plural.Count(a.Waiting, "more is", "more are"))
	}
	return nil
}

var holes = columns[client.HolesTask]{
	{"TASK", func(t *client.HolesTask) any { return t.Task }},
	{"DAYS", func(t *client.HolesTask) any { return t.Holes }},
	{"ACCOUNTS", func(t *client.HolesTask) any { return t.Accounts }},
	{"FROM", func(t *client.HolesTask) any { return t.From }},
	{"TO", func(t *client.HolesTask) any { return t.To }},
	{"SUBTASKS", func(t *client.HolesTask) any { return t.Subtasks }},
	{"CALLS", func(t *client.HolesTask) any { return t.EstimatedCalls }},
	{"TIME", func(t *client.HolesTask) any { return table.Seconds(t.EstimatedSeconds) }},
	{"WAITING", func(t *client.HolesTask) any { return t.Waiting }},
	{"ORDERED", func(t *client.HolesTask) any { return t.Ordered }},
}

// estimated returns in words what work would cost, as far as is known.
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
