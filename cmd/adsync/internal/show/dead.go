package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// DeadGroups prints dead subtasks in groups of one error print.
func DeadGroups(w io.Writer, a *client.DeadGroups) error {
	if a.Total == 0 {
		fmt.Fprintln(w, "There are no dead subtasks.")
		return nil
	}
	atLeast := ""
	if a.Stake.Looked < a.Total {
		atLeast = "at least "
	}
	groups := columns[client.DeadGroup]{
		{"COUNT", func(g *client.DeadGroup) any { return g.Count }},
		{"HEALED", func(g *client.DeadGroup) any { return atLeast + strconv.FormatInt(g.Healed, 10) }},
		{"FIRST", func(g *client.DeadGroup) any { return g.FirstDeadAt }},
		{"LAST", func(g *client.DeadGroup) any { return g.LastDeadAt }},
		{"CLASS", func(g *client.DeadGroup) any { return strings.Join(g.Classes, ",") }},
		{"TASKS", func(g *client.DeadGroup) any { return few(g.Tasks) }},
		{"ERROR PRINT", func(g *client.DeadGroup) any { return g.Print }},
	}
	if err := groups.print(w, a.Groups); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", plural.Count(a.Total, "dead subtask", "dead subtasks"))
	if a.Redriving > 0 {
		fmt.Fprintf(w, ", %d of them being redriven", a.Redriving)
	}
	if a.More {
		fmt.Fprint(w, "; there are more groups: raise --limit")
	}
	fmt.Fprintln(w, ".")
	s := a.Stake
	of := "Of them"
	if s.Looked < a.Total {
		of = fmt.Sprintf("Of the %d that died last", s.Looked)
	}
	fmt.Fprintf(w, "%s, %d healed and %s", of, s.Healed, plural.Count(s.Unhealed, "needs", "need")+" attention")
	if s.Accounts > 0 {
		fmt.Fprintf(w, ": of %s", plural.Count(s.Accounts, "account", "accounts"))
		if len(s.Money) > 0 {
			fmt.Fprintf(w, ", which spend %s in a day", amounts(s.Money))
		}
	}
	fmt.Fprintln(w, ".")
	return nil
}

// few returns the first of several names, and the number of the others.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ","), len(names)-2)
	}
	return strings.Join(names, ",")
}

// DeadSubtasks prints dead subtasks, one by one.
var DeadSubtasks = List[client.DeadSubtask]{
	Rows: "dead",
	none: "There are no dead subtasks.",
	more: "\n" + moreBy("--task, --print …"),
	columns: columns[client.DeadSubtask]{
		{"DIED", func(d *client.DeadSubtask) any { return d.DeadAt }},
		{"RUN", func(d *client.DeadSubtask) any { return d.RunID }},
		{"ACCOUNT ID", func(d *client.DeadSubtask) any { return d.AccountID }},
		{"PART", func(d *client.DeadSubtask) any { return d.Part }},
		{"TASK", func(d *client.DeadSubtask) any { return d.Task }},
		{"ACCOUNT", func(d *client.DeadSubtask) any { return d.Account }},
		{"ATTEMPTS", func(d *client.DeadSubtask) any { return d.Attempts }},
		{"CLASS", func(d *client.DeadSubtask) any {
			if d.Healed {
				return d.ErrorClass + ", healed"
			}
			return d.ErrorClass
		}},
		{"ERROR", func(d *client.DeadSubtask) any { return d.Error }},
	},
}

// DeadSubtask prints all that is known of a dead subtask.
func DeadSubtask(w io.Writer, d *client.DeadSubtask) error {
	t := table.New(w)
	t.Pairs(
		"task", d.Task,
		"account", fmt.Sprintf("%s (our id %s), %s", d.Account, d.AccountID, d.Media),
		"part", d.Part,
		"died", table.Moment(d.DeadAt)+", after "+plural.Count(d.Attempts, "failure", "failures"),
		"error class", d.ErrorClass,
		"error print", d.ErrorPrint,
		"error", table.Whole(d.Error),
	)
	if d.RedriveRunID != "" {
		t.Pairs("redriven by", "run "+d.RedriveRunID)
	}
	if d.Run == nil {
		t.Pairs("run", d.RunID+", which is no longer kept")
	} else {
		t.Pairs("run", fmt.Sprintf("%s (%s of %s), %s", d.RunID, d.Run.Kind, table.Moment(d.Run.PlannedAt), d.Run.State),
			"handler", d.Run.Handler+", lane "+d.Run.Lane)
	}
	if len(d.Params) > 0 {
		t.Pairs("params", table.Whole(d.Params))
	}
	if d.Log == nil {
		t.Pairs("log", "its day's table was dropped")
	} else {
		t.Pairs("log", fmt.Sprintf("sent %s, last started %s on %s, %s in all", plural.Count(d.Log.Delivery, "time", "times"),
			table.Moment(d.Log.StartedAt),
			d.Log.Node, plural.Count(d.Log.Calls, "API call", "API calls")))
	}
	return t.Flush()
}

// Redrive prints which dead subtasks are redriven, by task.
func Redrive(w io.Writer, p *client.Redrive) error {
	if len(p.Tasks) == 0 {
		fmt.Fprintln(w, noneChosen)
	} else {
		if err := redriveTasks.print(w, p.Tasks); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s, %s.\n", plural.Count(p.Count, "dead subtask", "dead subtasks"),
			estimated(p.EstimatedCalls, p.EstimatedSeconds))
	}
	if p.Healed > 0 {
		atLeast := ""
		if p.HealedAtLeast {
			atLeast = "At least "
		}
		fmt.Fprintf(w, "%s%s\n", atLeast, plural.Count(p.Healed,
			"has healed: its days were pulled whole since, so it needs no redrive.",
			"have healed: their days were pulled whole since, so they need no redrive."))
	}
	redriving(w, p.Redriving)
	return nil
}

var redriveTasks = columns[client.RedriveTask]{
	{"TASK", func(t *client.RedriveTask) any { return t.Task }},
	{"SUBTASKS", func(t *client.RedriveTask) any { return t.Count }},
	{"CALLS", func(t *client.RedriveTask) any { return t.EstimatedCalls }},
	{"TIME", func(t *client.RedriveTask) any { return table.Seconds(t.EstimatedSeconds) }},
	{"REFUSED", func(t *client.RedriveTask) any { return t.Refused }},
}

// Drop prints which dead subtasks are dropped, by task.
func Drop(w io.Writer, p *client.Drop) error {
	if len(p.Tasks) == 0 {
		fmt.Fprintln(w, noneChosen)
	} else {
		if err := dropTasks.print(w, p.Tasks); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s.\n", plural.Count(p.Count, "dead subtask", "dead subtasks"))
	}
	redriving(w, p.Redriving)
	return nil
}

var dropTasks = columns[client.DropTask]{
	{"TASK", func(t *client.DropTask) any { return t.Task }},
	{"SUBTASKS", func(t *client.DropTask) any { return t.Count }},
}

const noneChosen = "No dead subtask is selected."

// redriving prints how many of the selected subtasks are being redriven already.
func redriving(w io.Writer, n client.Count) {
	if n > 0 {
		fmt.Fprintf(w, "%s being redriven already, and stay as they are.\n", plural.Count(n, "more is", "more are"))
	}
}
