package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"adsync/client"
)

// Floors prints the exclusive subtasks that hold up others, or wait for that.
func Floors(w io.Writer, a *client.FloorList) error {
	if len(a.Floors) == 0 {
		_, err := fmt.Fprintln(w, "No exclusive subtask holds up others.")
		return err
	}
	rows := make([]client.Floor, len(a.Floors))
	copy(rows, a.Floors)
	return floors.print(w, rows)
}

var floors = columns[client.Floor]{
	{"TASK", func(f *client.Floor) any { return f.Task }},
	{"RUN", func(f *client.Floor) any { return f.RunID }},
	{"ACCOUNT", func(f *client.Floor) any { return f.AccountID }},
	{"PART", func(f *client.Floor) any { return f.Part }},
	{"OVER", func(f *client.Floor) any { return f.Over }},
	{"STATE", func(f *client.Floor) any { return f.State }},
	{"ASKED", func(f *client.Floor) any { return f.AskedAt }},
	{"SINCE", func(f *client.Floor) any { return momentOrDash(f.Since) }},
	{"UNTIL", func(f *client.Floor) any { return momentOrDash(f.Until) }},
	{"WAITS FOR", func(f *client.Floor) any {
		var texts []string
		for _, n := range f.NotIdle {
			switch {
			case n.Consumer == "":
				texts = append(texts, fmt.Sprintf("%d outside", n.Subtasks))
			case n.Unread:
				texts = append(texts, n.Consumer+" (unread)")
			default:
				texts = append(texts, fmt.Sprintf("%s (%d)", n.Consumer, n.Subtasks))
			}
		}
		return strings.Join(texts, ", ")
	}},
}

// momentOrDash returns a moment for a column; "-" for none.
func momentOrDash(t time.Time) any {
	if t.IsZero() {
		return "-"
	}
	return t
}
