package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newRuns(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "runs",
		Short: "Shows runs, and redrives what failed in them",
		Long: `A run is one execution of a task: for a tick of its cron, or for an order. "adsync tasks run" orders a run,
"adsync pause run ID" pauses one, and "adsync cancel run ID" ends what is open of one.`,
		Example: `  adsync runs list --state running
  adsync runs show 7529853616300212345 --watch`,
	})
	cmd.AddCommand(newRunsList(a), newRunsShow(a), newRunsRerun(a))
	return cmd
}

// runArg takes the id of a run.
var runArg = usage.Args(1, `the id of a run: "adsync runs list" lists them`)

func runPath(id string) string { return "/api/v1/runs/" + url.PathEscape(id) }
