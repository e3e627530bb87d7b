package jobqueue

import (
	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
)

func newJobsAck(a *settings.Source) *cobra.Command {
	return queueCommand(a, &cobra.Command{
		Use:   "ack NAMESPACE/QUEUE ID...",
		Short: "Acknowledges jobs",
		Long: `Acknowledges jobs by their ids: they are done, and are not delivered again. An id that was acknowledged before,
or that the queue never had, is no error.`,
		Example: `  adsync jobs ack shop/orders 01KB7YH5T0QJ3Z8V6N4M2XR9WD
  adsync jobs consume shop/orders --count 100 --output json | jq -r '.[].job_id' | xargs adsync jobs ack shop/orders`,
		Args: named(queueName, "NAMESPACE/QUEUE and the ids of jobs", func(others int) bool { return others > 0 }),
	}, func(r *request, args []string) error {
		if err := r.ack(args[0], args[1:]); err != nil {
			return err
		}
		return r.done("Acknowledged %s of %s.", plural.Count(len(args)-1, "job", "jobs"), args[0])
	})
}
