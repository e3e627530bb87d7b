package jobqueue

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newJobsResume(a *settings.Source) *cobra.Command {
	return queueCommand(a, &cobra.Command{
		Use:     "resume NAMESPACE/QUEUE",
		Short:   "Ends the pause of a queue",
		Long:    `Lets the claims of a queue continue within a second. The token needs the role admin.`,
		Example: `  adsync jobs resume shop/orders`,
		Args:    oneQueue,
	}, func(r *request, args []string) error {
		if _, err := r.call(http.MethodPost, apiPath(args[0])+"/resume", nil, nil); err != nil {
			return err
		}
		return r.done("Resumed %s.", args[0])
	})
}
