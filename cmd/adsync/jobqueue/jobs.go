package jobqueue

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newJobs(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Publishes and consumes jobs, and operates their queues",
		Long: `These commands call the job queue that "adsync serve --role=jobs" and "adsync standalone" serve, at --server or
` + serverVariable + `. A queue is named as NAMESPACE/QUEUE. If the server needs a token, set ` + tokenVariable + `.`,
		Example: `  adsync jobs publish shop/orders --body 'order 17' --tries 3
  adsync jobs consume shop/orders --timeout 10s --ack
  adsync jobs queues shop`,
	})
	cmd.AddCommand(newJobsQueues(a), newJobsPublish(a), newJobsConsume(a), newJobsAck(a), newJobsNack(a),
		newJobsRelease(a), newJobsShow(a), newJobsDead(a), newJobsRespawn(a), newJobsDrop(a), newJobsPause(a),
		newJobsResume(a), newJobsSettings(a), newJobsDue(a), newJobsToken(a))
	return cmd
}
