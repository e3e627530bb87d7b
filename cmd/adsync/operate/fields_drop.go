package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsDrop(a *settings.Source) *cobra.Command {
	return fieldCommand(a, "off", "No longer requests", &cobra.Command{
		Use:   "drop MEDIA FIELD",
		Short: "Stops requesting a field",
		Long: `Leaves a field out of the request: its column is NULL in the days that are pulled from then on. For a field
that the platform has retired, it records that somebody has seen that. Fields that identify rows, and the
money spent, cannot be dropped.`,
		Example: `  adsync fields drop {media} order_uv
  adsync fields drop {media} order_uv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
