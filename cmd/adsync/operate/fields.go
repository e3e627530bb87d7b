package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

const fieldsPath = "/api/v1/fields"

func newFields(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "fields",
		Short: "Lists and changes the fields that reports are requested with",
		Long: `Reports are requested with the fields that the platform's package names, and with those that you add or drop
here. A change takes effect within half a minute. A field that you add is tried first: one call of one account
requests it, and pulls request it once the platform has accepted it. Its values are in the JSON of the raw
rows. A field that the platform removes is retired automatically, and the report is pulled without it.`,
		Example: `  adsync fields list --state retired
  adsync fields add {media} order_uv`,
	})
	cmd.AddCommand(newFieldsList(a), newFieldsAdd(a), newFieldsDrop(a), newFieldsReinstate(a), newFieldsBackfill(a))
	return cmd
}

// fieldCommand makes cmd a command that changes the state of a field. done is the verb of its output, such as
// "Requests".
func fieldCommand(a *settings.Source, state, done string, cmd *cobra.Command) *cobra.Command {
	cmd.Long += "\n\nWithout --report and --level it applies to all of them, and replaces the settings of single ones."
	cmd.Args = usage.MediaField
	api.Command(a, cmd, func(r *api.Request, args []string) error {
		body := r.Params()
		body["media"], body["field"], body["state"] = args[0], args[1], state
		return api.Send(r, http.MethodPut, fieldsPath, body, show.ChangedField(done))
	})
	api.Param(cmd, "report", "only of this report, such as report_daily")
	api.Param(cmd, "level", "only at this level, such as adgroup")
	api.Param(cmd, "reason", "why")
	api.Param(cmd, "by", "your name, if no token carries it")
	return cmd
}
