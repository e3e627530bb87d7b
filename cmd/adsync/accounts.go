package main

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/store"
	"adsync/cmd/adsync/internal/usage"
)

// accountArg takes an account as the platforms know it: MEDIA/ACCOUNT.
func accountArg(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		media, id := store.SplitName(args[0])
		// The name of a platform alone is no id.
		if media != "" && id != "" || media == "" && !strings.Contains(id, "/") && strings.ContainsAny(id, "0123456789") {
			return nil
		}
	}
	return usage.Errorf("want MEDIA/ACCOUNT with the platform's id, such as: %s/20000001, or the id alone where no other platform has it", somePlatform())
}

// accountPath is where the API tells of the account, or something of it; accountArg has seen the argument.
func accountPath(account, what string) string {
	media, id := store.SplitName(account)
	media = cmp.Or(media, "-") // The producer finds the platform.
	return strings.TrimSuffix("/api/v1/accounts/"+url.PathEscape(media)+"/"+url.PathEscape(id)+"/"+what, "/")
}

func newAccounts(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "accounts",
		Short: "Tells what is known of accounts",
		Long:  `Tells what is known of accounts. "adsync bind account" and "adsync unbind" change it.`,
		Example: `  adsync accounts list --login-state reauthorise
  adsync accounts show {media}/20000001`,
	})
	cmd.AddCommand(newAccountsList(a), newAccountsShow(a))
	return cmd
}
