package show

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/table"
)

// Runs prints runs.
var Runs = List[client.Run]{
	Rows: "runs",
	none: "There are no such runs.",
	more: moreBy("--task, --state …"),
	columns: columns[client.Run]{
		{"RUN", func(r *client.Run) any { return r.ID }},
		{"TASK", func(r *client.Run) any { return r.Task }},
		{"KIND", func(r *client.Run) any { return r.Kind }},
		{"STATE", func(r *client.Run) any { return r.State }},
		{"PLANNED", func(r *client.Run) any { return r.PlannedAt }},
		{"ENDED", func(r *client.Run) any { return r.EndedAt }},
		{"SUBTASKS", func(r *client.Run) any { return total(&r.Counts) }},
		{"DONE", func(r *client.Run) any { return r.Counts.Succeeded + r.Counts.Superseded }},
		{"FAILED", func(r *client.Run) any { return undone(&r.Counts) }},
		{"NOTE", func(r *client.Run) any {
			return strings.TrimSuffix(strings.TrimPrefix(ordered(r.Order, r.OriginRunID)+"; "+r.Error, "; "), "; ")
		}},
	},
}

// Run prints a run with its counts and its progress.
func Run(w io.Writer, r *client.Run) error {
	t := table.New(w)
	t.Pairs("run", r.ID, "task", r.Task, "state", r.State)
	if r.Error != "" {
		t.Pairs("error", table.Whole(r.Error))
	}
	if r.State == pending {
		t.Pairs("", "The leader makes it within about a second.")
		return t.Flush()
	}
	t.Pairs("kind", r.Kind)
	if r.Order != nil {
		t.Pairs("ordered", ordered(r.Order, r.OriginRunID))
	}
	if n := r.RunsUnder; n.Runs > 0 {
		t.Pairs("ordered by it", fmt.Sprintf("%s, of which %d are open and %d ended with undone subtasks",
			plural.Count(n.Runs, "run", "runs"), n.Open, n.Undone))
	}
	t.Pairs("handler", r.Handler+", lane "+r.Lane, "planned", r.PlannedAt, "made", r.CreatedAt, "fanned out",
		r.FannedOutAt, "ended", r.EndedAt, "subtasks", total(&r.Counts))
	for _, n := range []struct {
		name  string
		count *int64
	}{
		{"waiting", r.Counts.Waiting},
		{"retrying", r.Counts.Retrying},
		{"deferred", r.Counts.Deferred},
		{"succeeded", &r.Counts.Succeeded},
		{"superseded", &r.Counts.Superseded},
		{"failed", &r.Counts.Failed},
		{"expired", &r.Counts.Expired},
		{"cancelled", &r.Counts.Cancelled},
	} {
		if n.count != nil && (*n.count > 0 || n.name == "succeeded" || n.name == "failed") {
			t.Pairs("  "+n.name, n.count)
		}
	}
	if r.RatePerSecond > 0 {
		t.Pairs("rate", fmt.Sprintf("%.1f subtasks a second", r.RatePerSecond))
	}
	if !r.EstimatedEnd.IsZero() {
		t.Pairs("estimated end", r.EstimatedEnd)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Counts.Failed > 0 {
		fmt.Fprintf(w, "\nTo see what failed: adsync dead list --run %s\nTo redrive it: adsync runs rerun %s\n",
			table.Plain(r.ID), table.Plain(r.ID))
	}
	return nil
}

// OrderPlan prints the estimate of an order.
func OrderPlan(w io.Writer, o *client.OrderPlan) error {
	_, err := fmt.Fprintf(w, "It would be %s of %s, %s. Nothing was ordered.\n",
		plural.Count(o.Subtasks, "subtask", "subtasks"), table.Plain(o.Task),
		estimated(o.EstimatedCalls, o.EstimatedSeconds))
	return err
}

// Order prints which run was ordered.
func Order(w io.Writer, o *client.Order) error {
	_, err := fmt.Fprintf(w, "Ordered run %s of %s.\n", table.Plain(o.RunID), table.Plain(o.Task))
	return err
}

// RunFailure returns the error of a run that has ended without success.
func RunFailure(r *client.Run) error {
	text := fmt.Sprintf("the run %s has ended as %s", r.ID, r.State)
	if n := undone(&r.Counts); n > 0 {
		text += fmt.Sprintf(", and %d of its %s %s not done", n, subtasks(&r.Counts), verb(n, "was", "were"))
	}
	if r.Error != "" {
		text += ": " + table.Clean(r.Error)
	}
	return errors.New(text)
}

// progress returns a line on the progress of a run.
func progress(r *client.Run) string {
	switch {
	case r.State == pending:
		return "It is ordered, and not made yet."
	case r.Counts.Total == nil:
		return fmt.Sprintf("Its subtasks are being made; %s ended.", plural.Count(ended(&r.Counts), "has", "have"))
	}
	line := fmt.Sprintf("%d of %s %s ended", ended(&r.Counts), subtasks(&r.Counts), verb(ended(&r.Counts), "has", "have"))
	if n := undone(&r.Counts); n > 0 {
		line += fmt.Sprintf(", %s not done", plural.Count(n, "was", "were"))
	}
	if !r.EstimatedEnd.IsZero() {
		line += ", the rest by about " + table.Moment(r.EstimatedEnd)
	}
	return line + "."
}

// Watch returns a function that prints a run each time it is read: on a terminal in the place of what it printed
// before, elsewhere a line when its state has changed, and in the end the whole run.
func Watch(out io.Writer) func(r *client.Run, moved bool) error {
	_, terminal := prompt.Terminal(out)
	return func(r *client.Run, moved bool) error {
		switch {
		case terminal:
			// It clears the screen and starts at the top left, so that lines which the terminal wraps need no count.
			fmt.Fprint(out, "\x1b[H\x1b[J")
			return Run(out, r)
		case !IsOpen(r):
			return Run(out, r)
		case moved:
			fmt.Fprintln(out, progress(r))
		}
		return nil
	}
}

// Progress returns a function that prints a line on a run each time it is read while it is open: on a terminal in the
// place of the line before, elsewhere when its state has changed.
func Progress(out io.Writer) func(r *client.Run, moved bool) error {
	_, terminal := prompt.Terminal(out)
	return func(r *client.Run, moved bool) error {
		if terminal {
			fmt.Fprint(out, "\r\x1b[K")
		}
		switch {
		case !IsOpen(r):
		case terminal:
			fmt.Fprint(out, progress(r))
		case moved:
			fmt.Fprintln(out, progress(r))
		}
		return nil
	}
}

// Nothing prints nothing of a run that is read.
func Nothing(*client.Run, bool) error { return nil }

// undone returns the number of subtasks that ended without success.
func undone(c *client.Counts) client.Count { return c.Failed + c.Expired + c.Cancelled }

func ended(c *client.Counts) client.Count { return c.Succeeded + c.Superseded + undone(c) }

// total returns the number of subtasks of a run in words.
func total(c *client.Counts) string {
	if c.Total == nil {
		return "…"
	}
	return strconv.FormatInt(*c.Total, 10)
}

// subtasks returns total with its noun.
func subtasks(c *client.Counts) string {
	if c.Total == nil {
		return "… subtasks"
	}
	return plural.Count(*c.Total, "subtask", "subtasks")
}

// pending is the state of a run that was ordered and is not made yet.
const pending client.RunState = "pending"

// IsOpen reports whether a run has not ended yet.
func IsOpen(r *client.Run) bool { return r.State == pending || task.RunState(r.State).Open() }

// ordered returns an order in words; origin is the run whose dead subtasks it redrives.
func ordered(o *client.Ordered, origin client.ID) string {
	if o == nil {
		return ""
	}
	what := "the whole scope"
	switch {
	case o.Redrive:
		what = "what failed"
		if origin != "" {
			what += " in run " + origin
		}
	case o.Accounts == 1:
		what = "1 account"
	case o.Accounts > 1:
		what = strconv.FormatInt(o.Accounts, 10) + " accounts"
	}
	if o.From != "" {
		what += ", " + o.From + " to " + o.To
	}
	if o.Confirm {
		what += ", confirmed"
	}
	if o.Spare {
		what += ", with spare calls"
	}
	if len(o.Params) > 0 {
		what += ", with params " + table.Clean(string(o.Params))
	}
	if o.Under != nil {
		what += ", under run " + o.Under.RunID
	}
	return what + ", by " + o.By
}

// verb returns the form of a verb that agrees with n.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
