package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsReinstate(a *settings.Source) *cobra.Command {
	return fieldCommand(a, "asked", "Requests again", &cobra.Command{
		Use:   "reinstate MEDIA FIELD",
		Short: "Requests a field again that was dropped, retired or refused",
		Long: `Requests a field again that was dropped, or that the platform had retired or refused and has now. Like an
added field it is tried first. To fill the days that lack it, order them again.`,
		Example: `  adsync fields reinstate {media} order_uv
  adsync fields reinstate {media} order_uv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
