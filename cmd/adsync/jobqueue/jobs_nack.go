package jobqueue

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newJobsNack(a *settings.Source) *cobra.Command {
	var reason string
	cmd := queueCommand(a, &cobra.Command{
		Use:   "nack NAMESPACE/QUEUE ID",
		Short: "Ends a claim without success",
		Long: `Ends a claim of a job without success. The job is ready again after --delay or its backoff, or a dead
letter with the reason if this was its last try. A job of a subtask ends with it: the subtask has an attempt with
the reason. "adsync jobs consume" prints the number of the claim.`,
		Example: `  adsync jobs nack shop/orders 01KB7YH5T0QJ3Z8V6N4M2XR9WD --claim 1 --reason 'no stock'`,
		Args:    oneJob,
	}, func(r *request, args []string) error {
		return r.endClaim(args, "nack", []byte(reason), "Ended claim %s of job %s without success.")
	})
	claimFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, such as 'no stock'")
	return cmd
}

// oneJob accepts a queue and the id of a job.
var oneJob = named(queueName, "NAMESPACE/QUEUE and the id of a job", func(others int) bool { return others == 1 })

// claimFlags adds the flags of commands that end a claim.
func claimFlags(cmd *cobra.Command) {
	cmd.Flags().Uint32("claim", 0, `the number of the claim, as "adsync jobs consume" prints it`)
	cmd.Flags().Duration("delay", 0, "when the job is ready again, such as 10m")
}

// endClaim ends a claim of a job, and prints what it did: text has places for the claim and the job.
func (r *request) endClaim(args []string, how string, body []byte, text string) error {
	if !r.Flags().Changed("claim") {
		return usage.Errorf(`want --claim with the number of the claim, as "adsync jobs consume" prints it`)
	}
	query, err := r.params("claim", "delay")
	if err != nil {
		return err
	}
	if _, err := r.call(http.MethodPost, apiPath(args[0])+"/job/"+args[1]+"/"+how, query, body); err != nil {
		return err
	}
	return r.done(text, query.Get("claim"), args[1])
}
