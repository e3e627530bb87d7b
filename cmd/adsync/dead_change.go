package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/plural"
	"adsync/base/task"
)

func changeFlags(flags *pflag.FlagSet, all, yes *bool) {
	flags.BoolVar(all, "all", false, "every dead subtask, instead of a filter")
	flags.BoolVar(yes, "yes", false, "do it; without it nothing is changed")
}

// deadPlan is what a redrive or a drop does.
type deadPlan struct {
	DryRun    bool   `json:"dry_run"`
	Count     int64  `json:"count"`
	Dropped   int64  `json:"dropped"`
	Redriving int64  `json:"redriving"`
	Healed    int64  `json:"healed"`
	AtLeast   bool   `json:"healed_at_least"`
	Until     string `json:"until"`
	Calls     *int64 `json:"estimated_calls"`
	Seconds   *int64 `json:"estimated_seconds"`
	Tasks     []struct {
		Task    string `json:"task"`
		Count   int64  `json:"count"`
		RunID   string `json:"run_id"`
		Calls   *int64 `json:"estimated_calls"`
		Seconds *int64 `json:"estimated_seconds"`
		Refused string `json:"refused"`
	} `json:"tasks"`
}

// plan asks what a change of dead subtasks would do, or with dry false has it done.
func (c *apiClient) plan(ctx context.Context, path string, body map[string]any, dry bool) (answer []byte, plan deadPlan, err error) {
	body["dry_run"] = dry
	if answer, err = c.call(ctx, http.MethodPost, path, nil, body); err == nil {
		err = json.Unmarshal(answer, &plan)
	}
	return answer, plan, err
}

// changeDead shows what a change would do, and with yes does just that: what dies meanwhile is left alone.
func changeDead(a *app, cmd *cobra.Command, f *deadFlags, change string, body map[string]any, all, yes bool) error {
	if err := f.checkChange(cmd.Flags(), all); err != nil {
		return err
	}
	c, err := a.client(cmd, f.server)
	if err != nil {
		return err
	}
	if all {
		body["scope"] = task.ScopeAll
	}
	path := "/api/v1/dead/" + change
	answer, plan, err := c.plan(cmd.Context(), path, body, true)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	var undone error
	if f.output == "table" {
		if err := printPlan(out, change, plan); err != nil {
			return err
		}
	}
	if plan.Count > 0 && yes {
		body["until"] = plan.Until
		if answer, plan, err = c.plan(cmd.Context(), path, body, false); err != nil {
			return err
		}
		left := plan
		for change == "drop" && left.Dropped > 0 && left.Dropped < left.Count { // The server drops some at a time.
			if _, left, err = c.plan(cmd.Context(), path, body, false); err != nil {
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
	if f.output == "json" {
		return errors.Join(printJSON(out, answer), undone)
	}
	switch {
	case plan.Count == 0:
	case !yes:
		fmt.Fprintln(out, "\nNothing was changed: add --yes to do it.")
	case change == "drop":
		fmt.Fprintf(out, "\nDropped %d.\n", plan.Dropped)
	default:
		fmt.Fprintln(out)
		printOrdered(out, plan)
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
			refused = append(refused, clean(t.Task+": "+t.Refused))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("the dead subtasks of %s were not taken up: %s", plural.Count(len(refused), "task", "tasks"), strings.Join(refused, "; "))
	}
	return nil
}

// printOrdered names the runs that a redrive has ordered.
func printOrdered(w io.Writer, plan deadPlan) {
	for _, t := range plan.Tasks {
		if t.RunID != "" {
			fmt.Fprintf(w, "Ordered run %s of %s.\n", t.RunID, t.Task)
		}
	}
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

func printPlan(w io.Writer, change string, plan deadPlan) error {
	if len(plan.Tasks) == 0 {
		fmt.Fprintln(w, "No dead subtask is chosen.")
	} else {
		t := table(w)
		head := "TASK\tSUBTASKS\tCALLS\tTIME\tREFUSED"
		if change == "drop" {
			head = "TASK\tSUBTASKS"
		}
		fmt.Fprintln(t, head)
		for _, p := range plan.Tasks {
			if change == "drop" {
				fmt.Fprintf(t, "%s\t%d\n", p.Task, p.Count)
				continue
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", p.Task, p.Count, number(p.Calls), took(p.Seconds), p.Refused)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s", plural.Count(plan.Count, "dead subtask", "dead subtasks"))
		if change == "redrive" {
			fmt.Fprintf(w, ", %s", estimate(plan.Calls, plan.Seconds))
		}
		fmt.Fprintln(w, ".")
	}
	if plan.Healed > 0 {
		atLeast := ""
		if plan.AtLeast {
			atLeast = "At least "
		}
		fmt.Fprintf(w, "%s%s\n", atLeast, plural.Count(plan.Healed, "has healed: its days were pulled whole since, so it need not be taken up.", "have healed: their days were pulled whole since, so they need not be taken up."))
	}
	if plan.Redriving > 0 {
		fmt.Fprintf(w, "%s being taken up again already, and left alone.\n", plural.Count(plan.Redriving, "more is", "more are"))
	}
	return nil
}

// estimate says what work would cost.
func estimate(calls, seconds *int64) string {
	switch {
	case calls == nil && seconds == nil:
		return "its API calls and time are not known yet"
	case calls == nil:
		return "its API calls are not known yet, about " + took(seconds)
	case seconds == nil:
		return "about " + plural.Count(*calls, "API call", "API calls") + ", its time is not known yet"
	}
	return "about " + plural.Count(*calls, "API call", "API calls") + ", about " + took(seconds)
}

func number(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatInt(*n, 10)
}

func took(seconds *int64) string {
	if seconds == nil {
		return "unknown"
	}
	return (time.Duration(*seconds) * time.Second).String()
}
