package jobqueue

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newJobsDrop(a *settings.Source) *cobra.Command {
	return deadCommand(a, "drop", &cobra.Command{
		Use:   "drop NAMESPACE/QUEUE",
		Short: "Drops dead letters",
		Long: `Shows how many dead letters a queue has, and with --yes drops the oldest of them. It cannot be taken back. The
token needs the role admin.`,
		Example: `  adsync jobs drop shop/orders
  adsync jobs drop shop/orders --limit 1000 --error 'unknown article' --yes`,
	}, drop)
}

// drop drops dead letters and shows how many are left: the server does not answer how many it dropped.
func drop(r *request, queue string, query url.Values, before int64) error {
	if _, err := r.call(http.MethodDelete, apiPath(queue)+"/deadletter", query, nil); err != nil {
		return err
	}
	answer, left, err := r.deadLetters(queue)
	if err != nil {
		return fmt.Errorf("count the dead letters that are left: %w", err)
	}
	if r.json() {
		return table.JSON(r.OutOrStdout(), answer)
	}
	_, err = fmt.Fprintf(r.OutOrStdout(), "%s had %s, and now has %d.\n", queue,
		plural.Count(before, "dead letter", "dead letters"), left)
	return err
}
