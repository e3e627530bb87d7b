package jobqueue

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
)

func newJobsRespawn(a *settings.Source) *cobra.Command {
	cmd := deadCommand(a, "respawn", &cobra.Command{
		Use:   "respawn NAMESPACE/QUEUE",
		Short: "Makes dead letters ready again",
		Long: `Shows how many dead letters a queue has, and with --yes makes the oldest of them ready again: with one try
each, and for 24 hours. A job that fails again is a dead letter again. With --rate they become ready one after
the other. The token needs the role admin.`,
		Example: `  adsync jobs respawn shop/orders
  adsync jobs respawn shop/orders --limit 1000 --error 'no stock' --rate 5 --yes`,
	}, respawn)
	cmd.Flags().Float64("rate", 0, "how many become ready each second (all at once if not given)")
	return cmd
}

func respawn(r *request, queue string, query url.Values, _ int64) error {
	rate, err := r.params("rate")
	if err != nil {
		return err
	}
	maps.Copy(query, rate)
	return send(r, http.MethodPut, apiPath(queue)+"/deadletter", query,
		func(w io.Writer, a *struct {
			Count int64 `json:"count"`
		}) error {
			_, err := fmt.Fprintf(w, "Respawned %s of %s.\n", plural.Count(a.Count, "dead letter", "dead letters"), queue)
			return err
		})
}
