package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newCoverageUntrusted(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, "/api/v1/coverage/untrusted", show.Untrusted, &cobra.Command{
		Use:   "untrusted",
		Short: "Lists the days of all accounts that cannot be trusted, and why",
		Long: `Lists the days of all accounts that cannot be trusted; without --from and --to, those of the last 30 days.
STATE is suspect (the answer was not accepted), partial (the pull was not whole), differs (the account's
figures are not the sums of this level), missing (never pulled, although a task covers the day) or early (last
pulled before the day had settled).`,
		Example: `  adsync coverage untrusted --media {media} --limit 1000
  adsync coverage untrusted --game starfall --from 2026-11-01 --to 2026-11-15`,
	})
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "game", "only days on which the account belonged to this game; unassigned for none")
	api.Param(cmd, "from", "first day, such as 2026-11-15")
	api.Param(cmd, "to", "last day, inclusive")
	return cmd
}
