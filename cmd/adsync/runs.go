package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/base/task"
)

const (
	// watchInterval is how long a run that is watched is left alone.
	watchInterval = time.Second
	// awayMax is for how long a producer may be away while a run is watched: an upgrade takes less.
	awayMax = 2 * time.Minute
)

func (a *app) newRuns() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "runs",
		Short: "Shows runs, and takes up what failed in them",
		Long: `A run is one carrying out of a task: of a tick of its cron, or of an order. "adsync tasks run" orders one, "adsync cancel run ID" ends
what is open of one, "adsync pause run ID" holds it up.`,
		Example: `  adsync runs list --state running
  adsync runs show 7529853616300212345 --watch`,
	})
	cmd.AddCommand(a.newRunsList(), a.newRunsShow(), a.newRunsRerun())
	return cmd
}

// runArg takes the id of a run.
func runArg(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef(`want the id of a run: "adsync runs list" lists them`)
	}
	return nil
}

func runPath(id string) string { return "/api/v1/runs/" + url.PathEscape(id) }

func (a *app) newRunsList() *cobra.Command {
	f := &listFlags{}
	var taskName, media, state, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists runs, the newest first",
		Long:  `Lists runs, the newest first. FAILED are the subtasks that ended without having been done: failed for good, expired or cancelled.`,
		Example: `  adsync runs list --task tencent.report_daily.account --limit 10
  adsync runs list --state failed,partial,expired --media tencent --since 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.list(a, cmd, "/api/v1/runs", given(map[string]string{"task": taskName, "media": media, "state": state, "since": sinceWhen(since)}), "runs", printRuns)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&taskName, "task", "", "only of the task of this name")
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&state, "state", "", "only in this state, or one of several with commas between them: "+strings.Join(runStates, ", "))
	cmd.Flags().StringVar(&since, "since", "", "only runs made since: a time such as 2026-11-21T10:30:00Z, or how long ago, such as 1h")
	return cmd
}

type runRow struct {
	ID      string
	Task    string
	Media   string
	Handler string
	Lane    string
	Kind    string
	State   string // one of runStates, or pending
	Error   string
	Order   *struct {
		Accounts                int
		From, To, By            string
		Confirm, Spare, Redrive bool
	}
	Origin string `json:"origin_run_id"`
	Counts struct {
		Total                                             *int64
		Waiting, Retrying, Deferred                       *int64
		Succeeded, Failed, Expired, Cancelled, Superseded int64
	}
	PlannedAt    time.Time `json:"planned_at"`
	CreatedAt    time.Time `json:"created_at"`
	FannedOutAt  time.Time `json:"fanned_out_at"`
	EndedAt      time.Time `json:"ended_at"`
	Rate         float64   `json:"rate_per_second"`
	EstimatedEnd time.Time `json:"estimated_end"`
}

// undone is how many subtasks ended without having been done.
func (r *runRow) undone() int64 { return r.Counts.Failed + r.Counts.Expired + r.Counts.Cancelled }

func (r *runRow) ended() int64 { return r.Counts.Succeeded + r.Counts.Superseded + r.undone() }

// total is how many subtasks the run has, in words.
func (r *runRow) total() string {
	if r.Counts.Total == nil {
		return "…"
	}
	return strconv.FormatInt(*r.Counts.Total, 10)
}

// verb is the form of a verb that goes with so many.
func verb[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// subtasks is total with its noun.
func (r *runRow) subtasks() string {
	if r.Counts.Total == nil {
		return "… subtasks"
	}
	return plural.Count(*r.Counts.Total, "subtask", "subtasks")
}

// open tells whether the run has not ended yet.
func (r *runRow) open() bool { return r.State == "pending" || task.RunState(r.State).Open() }

// ordered is what an order said, in words.
func (r *runRow) ordered() string {
	if r.Order == nil {
		return ""
	}
	what := "the whole scope"
	switch {
	case r.Order.Redrive:
		what = "what failed"
		if r.Origin != "" {
			what += " in run " + r.Origin
		}
	case r.Order.Accounts == 1:
		what = "1 account"
	case r.Order.Accounts > 1:
		what = strconv.Itoa(r.Order.Accounts) + " accounts"
	}
	if r.Order.From != "" {
		what += ", " + r.Order.From + " to " + r.Order.To
	}
	if r.Order.Confirm {
		what += ", confirmed"
	}
	if r.Order.Spare {
		what += ", with spare calls"
	}
	return what + ", by " + r.Order.By
}

func printRuns(w io.Writer, answer []byte) error {
	var a struct {
		Runs []runRow
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Runs) == 0 {
		_, err := fmt.Fprintln(w, "There are no such runs.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "RUN\tTASK\tKIND\tSTATE\tPLANNED\tENDED\tSUBTASKS\tDONE\tFAILED\tNOTE")
	for i := range a.Runs {
		r := &a.Runs[i]
		note := strings.TrimPrefix(r.ordered()+"; "+r.Error, "; ")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", plain(r.ID), plain(r.Task), plain(r.Kind), plain(r.State), moment(r.PlannedAt), moment(r.EndedAt),
			r.total(), r.Counts.Succeeded+r.Counts.Superseded, r.undone(), dashed(strings.TrimSuffix(note, "; ")))
	}
	return more(t, a.Next, "--task, --state …")
}

// more ends a table of which there may be more rows.
func more(t *tabwriter.Writer, next, filters string) error {
	if next != "" {
		fmt.Fprintf(t, "There are more: raise --limit, or choose by %s\n", filters)
	}
	return t.Flush()
}

func (a *app) newRunsShow() *cobra.Command {
	f := &apiFlags{}
	var watch bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Shows a run, its counts and its progress",
		Long: `Shows a run with its exact counts, how many subtasks a second it ends, and about when it will have ended at this rate. With --watch it
goes on to do so until the run has ended; interrupt it as you like, the run goes on.`,
		Example: `  adsync runs show 7529853616300212345
  adsync runs show 7529853616300212345 --watch`,
		Args: runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !watch {
				return f.call(a, cmd, http.MethodGet, runPath(args[0]), nil, nil, printRun)
			}
			c, err := f.ask(a, cmd)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, terminal := terminalOf(out)
			answer, _, err := c.follow(cmd.Context(), args[0], cmd.ErrOrStderr(), func(answer []byte, r *runRow, moved bool) error {
				switch {
				case f.output == "json":
					return nil
				case terminal:
					// From the top left, clearing what was there: lines that the terminal wraps need no counting.
					fmt.Fprint(out, "\x1b[H\x1b[J")
					return printRun(out, answer)
				case moved && r.open():
					_, err := fmt.Fprintln(out, r.progress())
					return err
				case !r.open():
					return printRun(out, answer)
				}
				return nil
			})
			if f.output == "json" && err == nil {
				return printJSON(out, answer)
			}
			if errors.Is(err, context.Canceled) {
				return nil // Stopped as asked.
			}
			return err
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again and again until it has ended")
	return cmd
}

// follow asks for a run until it has ended, and has each answer seen; moved tells whether its state is another than before. A producer may be
// away for a while, which notes tell.
func (c *apiClient) follow(ctx context.Context, id string, notes io.Writer, see func(answer []byte, r *runRow, moved bool) error) ([]byte, *runRow, error) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	state := ""
	var away time.Time // since when
	for {
		answer, err := c.call(ctx, http.MethodGet, runPath(id), nil, nil)
		if ctx.Err() != nil {
			return nil, nil, context.Canceled
		}
		if _, isAway := errors.AsType[*awayError](err); isAway {
			if away.IsZero() {
				away = clock.Mark()
				fmt.Fprintf(notes, "%v (It is tried again for %s.)\n", err, awayMax)
			}
			if clock.Since(away) > awayMax {
				return nil, nil, err
			}
		} else {
			away = time.Time{}
			r := &runRow{}
			if err == nil {
				err = json.Unmarshal(answer, r)
			}
			if err == nil {
				err = see(answer, r, r.State != state)
			}
			if err != nil || !r.open() {
				return answer, r, err
			}
			state = r.State
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Canceled
		case <-ticker.C:
		}
	}
}

// progress is a line on how far a run is.
func (r *runRow) progress() string {
	switch {
	case r.State == "pending":
		return "It is ordered, and not made yet."
	case r.Counts.Total == nil:
		return fmt.Sprintf("Its subtasks are being made; %s ended.", plural.Count(r.ended(), "has", "have"))
	}
	line := fmt.Sprintf("%d of %s %s ended", r.ended(), r.subtasks(), verb(r.ended(), "has", "have"))
	if n := r.undone(); n > 0 {
		line += fmt.Sprintf(", %s not done", plural.Count(n, "was", "were"))
	}
	if !r.EstimatedEnd.IsZero() {
		line += ", the rest by about " + moment(r.EstimatedEnd)
	}
	return line + "."
}

func printRun(w io.Writer, answer []byte) error {
	var r runRow
	if err := json.Unmarshal(answer, &r); err != nil {
		return err
	}
	t := table(w)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("run", "%s", plain(r.ID))
	line("task", "%s", dashed(r.Task))
	line("state", "%s", plain(r.State))
	if r.Error != "" {
		line("error", "%s", clean(r.Error))
	}
	if r.State == "pending" {
		line("", "The leader makes it within about a second.")
		return t.Flush()
	}
	line("kind", "%s", plain(r.Kind))
	if r.Order != nil {
		line("ordered", "%s", plain(r.ordered()))
	}
	line("handler", "%s, lane %s", plain(r.Handler), plain(r.Lane))
	line("planned", "%s", moment(r.PlannedAt))
	line("made", "%s", moment(r.CreatedAt))
	line("fanned out", "%s", moment(r.FannedOutAt))
	line("ended", "%s", moment(r.EndedAt))
	line("subtasks", "%s", r.total())
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
			line("  "+n.name, "%d", *n.count)
		}
	}
	if r.Rate > 0 {
		line("rate", "%.1f subtasks a second", r.Rate)
	}
	if !r.EstimatedEnd.IsZero() {
		line("estimated end", "%s", moment(r.EstimatedEnd))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Counts.Failed > 0 {
		fmt.Fprintf(w, "\nWhat failed: adsync dead list --run %s\nTo take it up again: adsync runs rerun %s\n", plain(r.ID), plain(r.ID))
	}
	return nil
}

func (a *app) newRunsRerun() *cobra.Command {
	f := &apiFlags{}
	var rate int
	var dry, yes bool
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Takes up what failed in a run, in a new run",
		Long: `Shows what would be taken up, and with --yes does it: a run is made of just the accounts and parts that failed for good in this one, with
the task's settings as they are now. It is "adsync dead redrive" of one run.`,
		Example: `  adsync runs rerun 7529853616300212345
  adsync runs rerun 7529853616300212345 --rate 50 --yes`,
		Args: runArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry && yes {
				return usagef("--dry-run and --yes do not go together")
			}
			c, err := f.ask(a, cmd)
			if err != nil {
				return err
			}
			body := map[string]any{}
			if rate != 0 {
				body["rate"] = rate
			}
			path := runPath(args[0]) + "/rerun"
			answer, plan, err := c.plan(cmd.Context(), path, body, true)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if f.output == "table" {
				if err := printPlan(out, "redrive", plan); err != nil {
					return err
				}
			}
			if yes {
				if answer, plan, err = c.plan(cmd.Context(), path, body, false); err != nil {
					return err
				}
			}
			switch {
			case f.output == "json" && yes:
				return errors.Join(printJSON(out, answer), plan.undone("redrive"))
			case f.output == "json":
				return printJSON(out, answer)
			case yes:
				fmt.Fprintln(out)
				printOrdered(out, plan)
				return plan.undone("redrive")
			default:
				fmt.Fprintln(out, "\nNothing was changed: add --yes to do it.")
			}
			return nil
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().IntVar(&rate, "rate", 0, "subtasks a second; without it what the task says")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be taken up, as without --yes")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}
