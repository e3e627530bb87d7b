package jobqueue

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/store/jobstore"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newJobsSettings(a *settings.Source) *cobra.Command {
	var replacement string
	cmd := queueCommand(a, &cobra.Command{
		Use:   "settings NAMESPACE/QUEUE",
		Short: "Shows or replaces the settings of a queue",
		Long: `Shows the settings of a queue. With --set-json it replaces all of them first: those that the JSON leaves out
have their defaults. They are in force within a second. A replacement needs a token with the role admin.

  backoff       how long jobs wait after a failed try, in seconds: {"base": 5, "factor": 2, "cap": 600}
  rate          how many jobs are claimed in a time: {"jobs": 100, "seconds": 1}
  concurrency   how many claims there are at a time
  keep_dead     for how many seconds dead letters are kept`,
		Example: `  adsync jobs settings shop/orders
  adsync jobs settings shop/orders --set-json '{"concurrency": 20, "keep_dead": 604800}'
  adsync jobs settings shop/orders --set-json '{}'`,
		Args: oneQueue,
	}, func(r *request, args []string) error {
		path := apiPath(args[0]) + "/settings"
		if replacement != "" {
			if _, err := r.call(http.MethodPut, path, nil, []byte(replacement)); err != nil {
				return err
			}
		}
		return send(r, http.MethodGet, path, nil, printSettings)
	})
	cmd.Flags().StringVar(&replacement, "set-json", "", "the new settings, as JSON")
	return cmd
}

func printSettings(w io.Writer, s *jobstore.Settings) error {
	backoff, rate, concurrency, keepDead := "none", "no limit", "no limit", "as long as the server keeps them"
	if b := s.Backoff; b != nil {
		backoff = fmt.Sprintf("%s, then %g times as long each time, up to %s", seconds(b.Base), b.Factor, seconds(b.Cap))
	}
	if s.Rate != nil {
		rate = fmt.Sprintf("%s in %s", plural.Count(s.Rate.Jobs, "job", "jobs"), seconds(s.Rate.Seconds))
	}
	if s.Concurrency > 0 {
		concurrency = plural.Count(s.Concurrency, "claim", "claims") + " at a time"
	}
	if s.KeepDead > 0 {
		keepDead = seconds(s.KeepDead).String()
	}
	t := table.New(w)
	t.Pairs("backoff", backoff, "rate", rate, "concurrency", concurrency, "dead letters are kept", keepDead)
	return t.Flush()
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
