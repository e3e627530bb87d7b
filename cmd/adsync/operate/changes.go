package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newChanges(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "changes MEDIA/ACCOUNT",
		Short: "Lists what changed in an account's configuration",
		Long: `Lists the differences between each pull of the configuration and the one before, the newest first; without
--from and --to, those of the last week. Values are the platform's, in its units. Where the platform has a log of
operations, its entries are listed too: they have the time of the change, and who made it.`,
		Example: `  adsync changes {media}/20000001 --field daily_budget
  adsync changes {media}/1700000000000001 --object 7300000000000000001 --from 2026-11-01`,
		Args: usage.Account,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, accountPath(args[0], "changes"), show.Changes)
	})
	api.Param(cmd, "from", "first day, such as 2026-11-15")
	api.Param(cmd, "to", "last day, inclusive")
	api.Param(cmd, "level", "such as adgroup")
	api.Param(cmd, "object", "the platform's id")
	api.Param(cmd, "field", "such as daily_budget, @created or @deleted")
	api.Param(cmd, "limit", "how many (100 if not given)")
	return cmd
}
