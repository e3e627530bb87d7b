package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newPublicationsCancel(a *settings.Source) *cobra.Command {
	return changePublication(a, "cancel", "Cancelled", &cobra.Command{
		Use:   "cancel ID",
		Short: "Ends a report file that is not published yet",
		Long: `Ends an open file. A try that is under way stops before its next step; a file that had its name by then keeps
it. "adsync publications redeliver" makes it again.`,
		Example: "  adsync publications cancel 7529853616300212345",
	})
}
