package operate

import (
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/task"
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

// verb is the form of a verb that goes with so many.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
