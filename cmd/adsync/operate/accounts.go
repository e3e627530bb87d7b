package operate

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	storesettings "adsync/base/store/settings"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

// accountPath returns the path of an account in the API, or of a part of it. usage.Account has checked the argument.
func accountPath(account, what string) string {
	media, id := storesettings.SplitName(account)
	media = cmp.Or(media, "-") // The producer finds the platform.
	return strings.TrimSuffix("/api/v1/accounts/"+url.PathEscape(media)+"/"+url.PathEscape(id)+"/"+what, "/")
}

func newAccounts(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "accounts",
		Short: "Shows accounts",
		Long:  `Shows what is known of accounts. "adsync bind account" and "adsync unbind" change it.`,
		Example: `  adsync accounts list --login-state reauthorise
  adsync accounts show {media}/20000001
  adsync accounts why {media}/20000001`,
	})
	cmd.AddCommand(newAccountsList(a), newAccountsShow(a), newAccountsWhy(a))
	return cmd
}
