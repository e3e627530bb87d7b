package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

func newRunsShow(a *app) *cobra.Command {
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
