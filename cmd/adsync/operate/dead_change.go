package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

const deadPath = "/api/v1/dead/"

// deadChange makes a command that changes the dead subtasks which a filter chooses.
func deadChange(a *settings.Source, change string, cmd *cobra.Command) *cobra.Command {
	var all, yes bool
	asking(a, cmd, func(r *request, _ []string) error {
		body := r.params()
		narrowed := false
		for name := range body {
			narrowed = narrowed || name != "until" && name != "rate"
		}
		switch { // A change of everything is asked for in so many words.
		case narrowed && all:
			return usage.Errorf("--all does not go with a filter: leave one of the two out")
		case !narrowed && !all:
			return usage.Errorf("want a filter, such as --task, or --all for every dead subtask")
		case all:
			body["scope"] = task.ScopeAll
		}
		return r.changeDead(deadPath+change, change, body, yes)
	})
	deadFilter(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every dead subtask, instead of a filter")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}

// deadPlan is what a redrive or a drop does.
type deadPlan struct {
	estimate

	Count     int64
	Dropped   int64
	Redriving int64
	Healed    int64
	AtLeast   bool `json:"healed_at_least"`
	Until     string
	Tasks     []struct {
		estimate

		Task    string
		Count   int64
		RunID   string `json:"run_id"`
		Refused string
	}
}

// plan asks what a change of dead subtasks would do, or with dry false has it done.
func (r *request) plan(path string, body map[string]any, dry bool) (answer []byte, plan deadPlan, err error) {
	c, err := r.client()
	if err != nil {
		return nil, plan, err
	}
	body["dry_run"] = dry
	if answer, err = c.Call(r.Context(), http.MethodPost, path, nil, body); err == nil {
		err = json.Unmarshal(answer, &plan)
	}
	return answer, plan, err
}

// changeDead shows what a change would do, and with yes does just that: what dies meanwhile is left alone.
func (r *request) changeDead(path, change string, body map[string]any, yes bool) error {
	answer, plan, err := r.plan(path, body, true)
	if err != nil {
		return err
	}
	out := r.OutOrStdout()
	if r.output == "table" {
		if err := plan.print(out, change); err != nil {
			return err
		}
	}
	var undone error
	if plan.Count > 0 && yes {
		if strings.HasPrefix(path, deadPath) { // What failed in one run needs no bound.
			body["until"] = plan.Until
		}
		if answer, plan, err = r.plan(path, body, false); err != nil {
			return err
		}
		left := plan
		for change == "drop" && left.Dropped > 0 && left.Dropped < left.Count { // The server drops some at a time.
			if _, left, err = r.plan(path, body, false); err != nil {
				return fmt.Errorf("after %s dropped: %w", plural.Count(plan.Dropped, "was", "were"), err)
			}
			plan.Dropped += left.Dropped
		}
		undone = left.undone(change)
		if change == "drop" {
			if answer, err = withDropped(answer, plan.Dropped); err != nil {
				return err
			}
		}
	}
	if r.output == "json" {
		return errors.Join(table.JSON(out, answer), undone)
	}
	switch {
	case plan.Count == 0:
	case !yes:
		fmt.Fprintln(out, "\nNothing was changed: add --yes to do it.")
	case change == "drop":
		fmt.Fprintf(out, "\nDropped %d.\n", plan.Dropped)
	default:
		fmt.Fprintln(out)
		for _, t := range plan.Tasks {
			if t.RunID != "" {
				fmt.Fprintf(out, "Ordered run %s of %s.\n", t.RunID, t.Task)
			}
		}
	}
	return undone
}

// undone returns an error if a part of a change was not done; of a drop the plan is the last answer.
func (p *deadPlan) undone(change string) error {
	if left := p.Count - p.Dropped; change == "drop" && left > 0 {
		return fmt.Errorf("%d of the dead subtasks %s not dropped: others change them at the same time; try again", left, verb(left, "was", "were"))
	}
	var refused []string
	for _, t := range p.Tasks {
		if t.Refused != "" {
			refused = append(refused, table.Clean(t.Task+": "+t.Refused))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("the dead subtasks of %s were not taken up: %s", plural.Count(len(refused), "task", "tasks"), strings.Join(refused, "; "))
	}
	return nil
}

// withDropped puts the sum of several requests into the answer to the first.
func withDropped(answer []byte, dropped int64) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, err
	}
	fields["dropped"] = json.RawMessage(strconv.FormatInt(dropped, 10))
	return json.Marshal(fields)
}

func (p *deadPlan) print(w io.Writer, change string) error {
	if len(p.Tasks) == 0 {
		fmt.Fprintln(w, "No dead subtask is chosen.")
	} else {
		t := table.New(w)
		if change == "drop" {
			t.Head("TASK\tSUBTASKS")
		} else {
			t.Head("TASK\tSUBTASKS\tCALLS\tTIME\tREFUSED")
		}
		for _, k := range p.Tasks {
			if change == "drop" {
				t.Row(k.Task, k.Count)
			} else {
				t.Row(k.Task, k.Count, k.Calls, table.Seconds(k.Seconds), k.Refused)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s", plural.Count(p.Count, "dead subtask", "dead subtasks"))
		if change == "redrive" {
			fmt.Fprintf(w, ", %s", p.estimate)
		}
		fmt.Fprintln(w, ".")
	}
	if p.Healed > 0 {
		atLeast := ""
		if p.AtLeast {
			atLeast = "At least "
		}
		fmt.Fprintf(w, "%s%s\n", atLeast, plural.Count(p.Healed, "has healed: its days were pulled whole since, so it need not be taken up.",
			"have healed: their days were pulled whole since, so they need not be taken up."))
	}
	if p.Redriving > 0 {
		fmt.Fprintf(w, "%s being taken up again already, and left alone.\n", plural.Count(p.Redriving, "more is", "more are"))
	}
	return nil
}
