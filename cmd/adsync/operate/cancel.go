package operate

import (
	"net/http"

	"adsync/cmd/adsync/internal/settings"

	"github.com/spf13/cobra"
)

const cancelsPath = "/api/v1/cancels"

func newCancel(a *settings.Source) *cobra.Command {
	return stopping(a, &cobra.Command{
		Use:   "cancel KIND TARGET",
		Short: "Ends open work for good",
		Long: `Ends what is open of the work now, within five seconds also what is under way, and keeps nothing that comes
later from running: disable or pause for that. It cannot be taken back, but the run can be ordered again.

` + stopTargets,
		Example: `  adsync cancel run 7529853616300212345 --reason 'wrong days'`,
	}, func(r *request, body map[string]any) error {
		return r.send(http.MethodPost, cancelsPath, body, printStop("Cancelled"))
	})
}
