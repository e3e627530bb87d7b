package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newAccountsList(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, "/api/v1/accounts", show.Accounts, &cobra.Command{
		Use:   "list",
		Short: "Lists accounts",
		Long: `Lists accounts with their tier, whether they are pulled, the login that they are pulled with and its state,
the number of the last seven days whose daily figures are complete, and the game that they belong to now.`,
		Example: `  adsync accounts list --media {media} --state parked
  adsync accounts list --login-state reauthorise
  adsync accounts list --game unassigned --limit 1000`,
	})
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "tier", "only of this tier: active, inactive or invalid")
	api.Param(cmd, "state", "pulled, parked or unbound")
	api.Param(cmd, "login-state", "ok, reauthorise (a person must authorise it again) or none")
	api.Param(cmd, "game", "only of this game today; unassigned for none")
	return cmd
}
