package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newCancels(a *settings.Source) *cobra.Command {
	return api.ListCommand(a, cancelsPath, show.Cancels, &cobra.Command{
		Use:     "cancels",
		Short:   "Lists what was cancelled",
		Long:    `Lists what was cancelled, by whom and why, the newest first. A cancel is active until it is carried out.`,
		Example: `  adsync cancels --limit 10`,
	})
}
