package jobqueue

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newJobsDue(a *settings.Source) *cobra.Command {
	var hours int
	cmd := queueCommand(a, &cobra.Command{
		Use:   "due NAMESPACE/QUEUE",
		Short: "Counts the jobs of a queue that wait, by hour",
		Long: `Counts the delayed and claimed jobs of a queue by the hour in which they become ready, in UTC. Hours without
such jobs are left out.`,
		Example: `  adsync jobs due shop/orders
  adsync jobs due shop/orders --hours 200`,
		Args: oneQueue,
	}, func(r *request, args []string) error {
		query, err := r.params("hours")
		if err != nil {
			return err
		}
		return send(r, http.MethodGet, apiPath(args[0])+"/due", query, func(w io.Writer, d *dueList) error {
			return printDue(w, d, hours)
		})
	})
	cmd.Flags().IntVar(&hours, "hours", 48, "how many hours to list at most, up to 1000")
	return cmd
}

// dueList has how many jobs of a queue become ready in each hour.
type dueList struct {
	Queue string `json:"queue"`
	Hours []struct {
		Hour time.Time `json:"hour"`
		Jobs int64     `json:"jobs"`
	} `json:"hours"`
}

// barMax is the length of the longest bar of a histogram.
const barMax = 50

func printDue(w io.Writer, d *dueList, limit int) error {
	if len(d.Hours) == 0 {
		_, err := fmt.Fprintf(w, "No job of %s waits.\n", table.Plain(d.Queue))
		return err
	}
	var most, total int64 = 1, 0
	for _, h := range d.Hours {
		most, total = max(most, h.Jobs), total+h.Jobs
	}
	t := table.New(w)
	t.Row("HOUR", "JOBS", table.Whole(""))
	for _, h := range d.Hours {
		t.Row(h.Hour, h.Jobs, strings.Repeat("#", int(max(1, h.Jobs*barMax/most))))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	more := ""
	if len(d.Hours) >= limit {
		more = " There may be more hours: raise --hours."
	}
	_, err := fmt.Fprintf(w, "\n%s.%s\n", plural.Count(total, "job waits", "jobs wait"), more)
	return err
}
