package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsReinstate(a *settings.Source) *cobra.Command {
	return putField(a, "asked", "Asks again for", &cobra.Command{
		Use:   "reinstate MEDIA FIELD",
		Short: "Asks again for a field that was dropped, retired or refused",
		Long: `Asks again for a field that
was dropped, or that the platform had retired or refused and has now. It is tried first, as one that is added. Order the days that lack it anew to fill them.`,
		Example: `  adsync fields reinstate {media} order_pv
  adsync fields reinstate {media} order_pv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
