package operate

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newPlatformsPut(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "put NAME",
		Short: "Makes a platform without Go code, or changes one",
		Long: `Makes a platform, or changes one; what is not given stays. A new one needs --timezone and --currency. Restart
the processes afterwards: they read the platforms when they start.`,
		Example: `  adsync platforms put tenth --timezone Asia/Tokyo --currency USD
  adsync platforms put tenth --limits '[{"endpoint":"*","scope":"app","period_ms":1000,"calls":20}]'
  adsync platforms put tenth --enabled=false`,
		Args: platformArg,
	}, func(r *api.Request, args []string) error {
		flags, body := r.Flags(), map[string]any{}
		for _, name := range []string{"timezone", "currency"} {
			if flags.Changed(name) {
				body[name], _ = flags.GetString(name) // It is one, as the others are below.
			}
		}
		if flags.Changed("limits") {
			text, _ := flags.GetString("limits")
			if !json.Valid([]byte(text)) {
				return usage.Errorf("--limits is not JSON: want a list of rules")
			}
			body["limits"] = json.RawMessage(text)
		}
		if flags.Changed("enabled") {
			body["enabled"], _ = flags.GetBool("enabled")
		}
		if len(body) == 0 {
			return usage.Errorf("nothing is to be changed: give a field, such as --currency")
		}
		return api.Send(r, http.MethodPut, platformPath(args[0]), body, show.ExternalPlatform)
	})
	flags := cmd.Flags()
	flags.String("timezone", "", "the zone of accounts that name no other")
	flags.String("currency", "", "the currency of accounts that name no other")
	flags.String("limits", "", "the call limits, as a JSON list of rules; [] for none")
	flags.Bool("enabled", false, "whether processes read it at their start")
	return cmd
}
