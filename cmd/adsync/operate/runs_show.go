package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"adsync/client"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"

	"github.com/spf13/cobra"
)

func newRunsShow(a *settings.Source) *cobra.Command {
	var watch bool
	cmd := asking(a, &cobra.Command{
		Use:   "show ID",
		Short: "Shows a run, its counts and its progress",
		Long: `Shows a run with its exact counts, how many subtasks a second it ends, and about when it will have ended at this rate. With --watch it
goes on to do so until the run has ended; interrupt it as you like, the run goes on.`,
		Example: `  adsync runs show 7529853616300212345
  adsync runs show 7529853616300212345 --watch`,
		Args: runArg,
	}, func(r *request, args []string) error {
		if !watch {
			return r.get(runPath(args[0]), printing(printRun))
		}
		return r.watch(args[0])
	})
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again and again until it has ended")
	return cmd
}

// watch shows a run until it has ended.
func (r *request) watch(id string) error {
	out := r.OutOrStdout()
	_, terminal := prompt.Terminal(out)
	answer, _, err := r.follow(id, func(run *client.Run, moved bool) error {
		switch {
		case r.output == "json":
			return nil
		case terminal:
			// From the top left, clearing what was there: lines that the terminal wraps need no counting.
			fmt.Fprint(out, "\x1b[H\x1b[J")
			return printRun(out, run)
		case moved && isOpen(run):
			_, err := fmt.Fprintln(out, progress(run))
			return err
		case !isOpen(run):
			return printRun(out, run)
		}
		return nil
	})
	if r.output == "json" && err == nil {
		return table.JSON(out, answer)
	}
	if errors.Is(err, context.Canceled) {
		return nil // Stopped as asked.
	}
	return err
}

func printRun(w io.Writer, r *client.Run) error {
	t := table.New(w)
	t.Pairs("run", r.ID, "task", table.Dashed(r.Task), "state", string(r.State))
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
	t.Pairs("handler", r.Handler+", lane "+r.Lane, "planned", r.PlannedAt, "made", r.CreatedAt, "fanned out", r.FannedOutAt, "ended", r.EndedAt, "subtasks", total(&r.Counts))
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
		fmt.Fprintf(w, "\nWhat failed: adsync dead list --run %s\nTo take it up again: adsync runs rerun %s\n", table.Plain(r.ID), table.Plain(r.ID))
	}
	return nil
}
