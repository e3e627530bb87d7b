package jobqueue

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newJobsQueues(a *settings.Source) *cobra.Command {
	return queueCommand(a, &cobra.Command{
		Use:   "queues NAMESPACE",
		Short: "Lists the queues of a namespace with their jobs counted",
		Long: `Lists the queues of a namespace: how many jobs are ready, how many wait (delayed, or claimed by a consumer),
how many are dead letters, whether the queue is paused, and for how long its oldest ready job has been ready.
A queue is listed while it has jobs, and for an hour after.`,
		Example: `  adsync jobs queues shop
  adsync jobs queues shop --output json`,
		Args: oneNamespace,
	}, func(r *request, args []string) error {
		answer, err := r.pages(apiPath(args[0]), "queues", unlimited)
		if err != nil {
			return err
		}
		return printAnswer(r, answer, printQueues)
	})
}

// queueList are the queues of a namespace.
type queueList struct {
	Namespace string `json:"namespace"`
	Queues    []struct {
		Queue   string `json:"queue"`
		Ready   int64  `json:"ready"`
		Waiting int64  `json:"waiting"`
		Dead    int64  `json:"deadletter_size"`
		Paused  bool   `json:"paused"`
		Oldest  *int64 `json:"oldest_ready_seconds"`
	} `json:"queues"`
}

func printQueues(w io.Writer, l *queueList) error {
	if len(l.Queues) == 0 {
		_, err := fmt.Fprintf(w, "There are no queues in %s.\n", table.Plain(l.Namespace))
		return err
	}
	t := table.New(w)
	t.Row("QUEUE", "READY", "WAITING", "DEAD", "PAUSED", "OLDEST READY")
	for _, q := range l.Queues {
		paused, oldest := "no", "-"
		if q.Paused {
			paused = "yes"
		}
		if q.Oldest != nil {
			oldest = table.Seconds(q.Oldest)
		}
		t.Row(q.Queue, q.Ready, q.Waiting, q.Dead, paused, oldest)
	}
	return t.Flush()
}
