package jobqueue

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/store/jobstore"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newJobsShow(a *settings.Source) *cobra.Command {
	return queueCommand(a, &cobra.Command{
		Use:   "show NAMESPACE/QUEUE ID",
		Short: "Shows one job without claiming it",
		Long: `Shows a job, alive or dead, with its body. A dead letter has no tries left, and neither has a job that is
claimed for the last time.`,
		Example: `  adsync jobs show shop/orders 01KB7YH5T0QJ3Z8V6N4M2XR9WD
  adsync jobs show shop/orders 01KB7YH5T0QJ3Z8V6N4M2XR9WD --output json | jq -r .data | base64 -d`,
		Args: named(queueName, "NAMESPACE/QUEUE and the id of a job", func(others int) bool { return others == 1 }),
	}, func(r *request, args []string) error {
		return send(r, http.MethodGet, apiPath(args[0])+"/job/"+args[1], nil, printJob)
	})
}

func printJob(w io.Writer, j *job) error {
	ago := (time.Duration(j.ElapsedMS) * time.Millisecond).Round(time.Second).String() + " ago"
	if id, known := jobstore.ParseID(j.JobID); known {
		ago = table.Moment(id.Published()) + ", " + ago
	}
	left := "never"
	if j.TTL > 0 {
		left = "in " + table.Seconds(&j.TTL)
	}
	var attributes []string
	for _, name := range slices.Sorted(maps.Keys(j.Attributes)) {
		attributes = append(attributes, fmt.Sprintf("%s=%s", name, j.Attributes[name]))
	}
	t := table.New(w)
	t.Pairs("job", j.JobID, "queue", j.Queue, "published", ago, "expires", left, "tries left", j.RemainTries)
	if len(attributes) > 0 {
		t.Pairs("attributes", table.Whole(strings.Join(attributes, ", ")))
	}
	t.Pairs("body", table.Whole(j.Data))
	return t.Flush()
}
