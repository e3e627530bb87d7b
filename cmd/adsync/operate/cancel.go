package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

const cancelsPath = "/api/v1/cancels"

func newCancel(a *settings.Source) *cobra.Command {
	return stopCommand(a, &cobra.Command{
		Use:   "cancel KIND TARGET",
		Short: "Ends open work permanently",
		Long: `Ends the open work, and within five seconds also the calls that are running. Later work still runs: to prevent
that, disable the task or pause. A cancel cannot be taken back, but the run can be ordered again.

` + stopTargets,
		Example: `  adsync cancel run 7529853616300212345 --reason 'wrong days'`,
	}, func(r *api.Request, body map[string]any) error {
		return api.Send(r, http.MethodPost, cancelsPath, body, show.Stop("Cancelled"))
	})
}
