package operate

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newRuns(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "runs",
		Short: "Shows runs, and takes up what failed in them",
		Long: `A run is one carrying out of a task: of a tick of its cron, or of an order. "adsync tasks run" orders one, "adsync cancel run ID" ends
what is open of one, "adsync pause run ID" holds it up.`,
		Example: `  adsync runs list --state running
  adsync runs show 7529853616300212345 --watch`,
	})
	cmd.AddCommand(newRunsList(a), newRunsShow(a), newRunsRerun(a))
	return cmd
}

// runArg takes the id of a run.
var runArg = usage.Args(1, `the id of a run: "adsync runs list" lists them`)

func runPath(id string) string { return "/api/v1/runs/" + url.PathEscape(id) }

// undone is how many subtasks ended without having been done.
func undone(c *client.Counts) client.Count { return c.Failed + c.Expired + c.Cancelled }

func ended(c *client.Counts) client.Count { return c.Succeeded + c.Superseded + undone(c) }

// total is how many subtasks a run has, in words.
func total(c *client.Counts) string {
	if c.Total == nil {
		return "…"
	}
	return strconv.FormatInt(*c.Total, 10)
}

// subtasks is total with its noun.
func subtasks(c *client.Counts) string {
	if c.Total == nil {
		return "… subtasks"
	}
	return plural.Count(*c.Total, "subtask", "subtasks")
}

// pending is the state of a run that is ordered and not made yet.
const pending client.RunState = "pending"

// isOpen tells whether a run has not ended yet.
func isOpen(r *client.Run) bool { return r.State == pending || task.RunState(r.State).Open() }

// ordered is what an order said, in words; origin is the run whose dead subtasks it takes up.
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
	return what + ", by " + o.By
}

// verb is the form of a verb that goes with so many.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
