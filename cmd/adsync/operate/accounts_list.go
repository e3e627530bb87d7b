package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newAccountsList(a *settings.Source) *cobra.Command {
	cmd := listing(a, "/api/v1/accounts", "accounts", printAccounts, &cobra.Command{
		Use:   "list",
		Short: "Lists accounts",
		Long: `Lists accounts with their tier, whether they are pulled, the state of the login that they are pulled with, how many of the last seven days
their own daily figures are complete, and the game that they belong to now.`,
		Example: `  adsync accounts list --media {media} --state parked
  adsync accounts list --login-state reauthorise
  adsync accounts list --game unassigned --limit 1000`,
	})
	param(cmd, "media", "only of this platform")
	param(cmd, "tier", "only of this tier: active, inactive or invalid")
	param(cmd, "state", "pulled, parked or unbound")
	param(cmd, "login-state", "ok, reauthorise (only a person can mend it) or none")
	param(cmd, "game", "only of this game today; unassigned for none")
	return cmd
}

// The name comes last: what is wide on a terminal, as 厦 is, would move the columns after it.
var printAccounts = rowsOf("accounts", "There are no such accounts.",
	"ACCOUNT\tTIER\tSTATE\tLOGIN\tLOGIN STATE\tDAYS COMPLETE\tPULLED\tGAME\tOS\tNAME", moreBy("--media, --state …"),
	func(t table.Table, x *client.ListedAccount) {
		state := string(x.State)
		if x.Parked != "" {
			state += ": " + x.Parked
		}
		login, loginState := "", "none"
		if x.Login != nil {
			login, loginState = x.Login.Login, x.Login.State
		}
		game, os := "unassigned", ""
		if n := len(x.Bindings); n > 0 && x.Bindings[n-1].To == "" {
			game, os = x.Bindings[n-1].Game, x.Bindings[n-1].OS
		}
		c := x.Coverage
		days := fmt.Sprintf("%d of %d", c.Complete, c.Complete+c.Partial+c.Suspect+c.Never)
		t.Row(x.Media+"/"+x.ExternalID, string(x.Tier), state, table.Dashed(login), loginState, days, c.PulledAt, game, table.Dashed(os), table.Dashed(x.Name))
	})
