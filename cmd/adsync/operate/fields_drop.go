package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsDrop(a *settings.Source) *cobra.Command {
	return putField(a, "off", "No longer asks for", &cobra.Command{
		Use:   "drop MEDIA FIELD",
		Short: "Asks for a field no more",
		Long: `Leaves a field out of the request: its column becomes NULL
in the days that are pulled from then on. For a field that the platform has retired it says that somebody has seen that. What rows are kept
apart by, and what was spent, cannot be dropped.`,
		Example: `  adsync fields drop {media} order_pv
  adsync fields drop {media} order_pv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
