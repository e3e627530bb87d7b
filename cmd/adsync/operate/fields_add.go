package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsAdd(a *settings.Source) *cobra.Command {
	return putField(a, "asked", "Asks for", &cobra.Command{
		Use:   "add MEDIA FIELD",
		Short: "Asks for one more field",
		Long: `Asks for one more field of the platform's. It is tried at the end
of the next pull of any account: the first of its reports is asked for it with one call. If the platform refuses it, no other call asks for it, and adsync
fields list shows the platform's words. If the platform accepts it, each of its other reports is asked once, and pulls ask those that have it. For a field
that only some reports have, name them by --report and --level.`,
		Example: `  adsync fields add {media} order_pv
  adsync fields add {media} order_pv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
