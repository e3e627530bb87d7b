package operate

import (
	"net/http"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newPlatformsAccounts(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "accounts NAME ACCOUNT...",
		Short: "Adds accounts of a platform without Go code, or changes them",
		Long: `Adds accounts by the platform's ids. They are pulled from then on. Accounts that are known get the zone and the
currency that are given, or otherwise the platform's.`,
		Example: `  adsync platforms accounts tenth t-1001 t-1002
  adsync platforms accounts tenth t-1003 --name "Sunny Games" --currency JPY`,
		Args: cobra.MinimumNArgs(2),
	}, func(r *api.Request, args []string) error {
		flags := r.Flags()
		if flags.Changed("name") && len(args) > 2 {
			return usage.Errorf("--name is of one account: give one")
		}
		var accounts []map[string]string
		for _, id := range args[1:] {
			account := map[string]string{"external_id": id}
			for _, name := range []string{"name", "timezone", "currency"} {
				if flags.Changed(name) {
					account[name], _ = flags.GetString(name) // It is one.
				}
			}
			accounts = append(accounts, account)
		}
		return api.Send(r, http.MethodPost, platformPath(args[0])+"/accounts", map[string]any{"accounts": accounts},
			show.ExternalAccounts)
	})
	flags := cmd.Flags()
	flags.String("name", "", "the account's name")
	flags.String("timezone", "", "the zone of the accounts' days; without it the platform's")
	flags.String("currency", "", "the accounts' currency; without it the platform's")
	return cmd
}
