package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newAccountsShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show MEDIA/ACCOUNT",
		Short: "Shows an account's state, its logins, and its games by day",
		Long: `Shows whether an account is pulled, which logins reach it, which of them it is pulled with, and the game that
it belongs to on each day.`,
		Example: `  adsync accounts show {media}/20000001`,
		Args:    usage.Account,
	}, func(r *api.Request, args []string) error { return api.Get(r, accountPath(args[0], ""), show.Account) })
}
