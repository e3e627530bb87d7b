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
		Short: "Lists and changes which fields reports are asked for",
		Long: `A report is asked for the fields that the platform's package names, and what you add or drop here; a change holds
within half a minute. A field that you add is tried first: one call of one account asks for it, and pulls ask for it once the platform has
accepted it. What comes of it stands in the raw rows' JSON. A field that the platform takes away is retired by itself, and the report goes
on without it.`,
		Example: `  adsync fields list --state retired
  adsync fields add {media} order_pv`,
	})
	cmd.AddCommand(newFieldsList(a), newFieldsAdd(a), newFieldsDrop(a), newFieldsReinstate(a), newFieldsBackfill(a))
	return cmd
}

// putField makes cmd a command that brings a field to a state; done says so in the past: "Asks for".
func putField(a *settings.Source, state, done string, cmd *cobra.Command) *cobra.Command {
	cmd.Long += "\n\nWithout --report and --level it holds for all of them, and takes the place of what was said of single ones."
	cmd.Args = usage.MediaField
	api.Command(a, cmd, func(r *api.Request, args []string) error {
		body := r.Params()
		body["media"], body["field"], body["state"] = args[0], args[1], state
		return api.Send(r, http.MethodPut, fieldsPath, body, show.ChangedField(done))
	})
	api.Param(cmd, "report", "only of this report, such as report_daily")
	api.Param(cmd, "level", "only at this level, such as adgroup")
	api.Param(cmd, "reason", "why")
	api.Param(cmd, "by", "your name, where no token says it")
	return cmd
}
