package jobqueue

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newJobsRelease(a *settings.Source) *cobra.Command {
	var state string
	cmd := queueCommand(a, &cobra.Command{
		Use:   "release NAMESPACE/QUEUE ID",
		Short: "Ends a claim at no try, so that another worker continues",
		Long: `Ends a claim of a job at no try: the job is ready again at once or after --delay, and its next worker gets
--state. "adsync jobs consume" prints the number of the claim.`,
		Example: `  adsync jobs release shop/orders 01KB7YH5T0QJ3Z8V6N4M2XR9WD --claim 1 --delay 30s --state 'page 17'`,
		Args:    oneJob,
	}, func(r *request, args []string) error {
		return r.endClaim(args, "release", []byte(state), "Released claim %s of job %s.")
	})
	claimFlags(cmd)
	cmd.Flags().StringVar(&state, "state", "", "what the next worker gets with the job; without it, what it has")
	return cmd
}
