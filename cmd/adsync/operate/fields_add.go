package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newFieldsAdd(a *settings.Source) *cobra.Command {
	return fieldCommand(a, "asked", "Requests", &cobra.Command{
		Use:   "add MEDIA FIELD",
		Short: "Requests one more field",
		Long: `Requests one more field of the platform's. It is tried at the end of the next pull of any account: one call
requests it for the first of its reports. If the platform refuses it, no other call requests it, and "adsync
fields list" shows the platform's words. If the platform accepts it, one call tries each of its other reports,
and pulls request it from the reports that have it. If only some reports have the field, name them with
--report and --level.`,
		Example: `  adsync fields add {media} order_uv
  adsync fields add {media} order_uv --report report_daily --level adgroup --reason 'for the shops'`,
	})
}
