package jobqueue

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newJobsPause(a *settings.Source) *cobra.Command {
	return queueCommand(a, &cobra.Command{
		Use:   "pause NAMESPACE/QUEUE",
		Short: "Stops the claims of a queue until it is resumed",
		Long: `Stops the claims of a queue within a second: its consumers get no jobs. Jobs that are claimed stay claimed, and
publications continue. The token needs the role admin.`,
		Example: `  adsync jobs pause shop/orders`,
		Args:    oneQueue,
	}, func(r *request, args []string) error {
		if _, err := r.call(http.MethodPost, apiPath(args[0])+"/pause", nil, nil); err != nil {
			return err
		}
		return r.done("Paused %s.", args[0])
	})
}
