package operate

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newLimitsDelete(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "delete ID",
		Short: "Deletes a call limit",
		Long: `Deletes a row of rate_limit. The platform's own limit of the same holds again, if it has one;
"adsync limits set --off" leaves none.`,
		Example: "  adsync limits delete 7",
		Args:    usage.Args(1, `the id of a limit: "adsync limits rules" lists them`),
	}, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodDelete, limitRulesPath+"/"+url.PathEscape(args[0]), nil, show.DeletedLimitRule)
	})
}
