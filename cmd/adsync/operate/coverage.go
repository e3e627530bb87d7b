package operate

import (
	"io"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newCoverage(a *settings.Source) *cobra.Command {
	var missing bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "coverage MEDIA/ACCOUNT",
		Short: "Shows which days of an account were pulled whole",
		Long: `Shows, for each report and level of an account, which days were pulled whole and which were not; without
--from and --to, those of the last week. Days are in the account's time zone. NOTE names values that could not
be used, and for a day that was never pulled the reason if it is not a hole. "adsync coverage holes" counts
and orders only what the tasks cover. To pull another day, order it with "adsync tasks run".`,
		Example: `  adsync coverage {media}/20000001
  adsync coverage {media}/20000001 --from 2026-11-01 --to 2026-11-21 --missing
  adsync coverage untrusted --media {media}
  adsync coverage holes`,
		Args: usage.Account,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, accountPath(args[0], "coverage"), func(w io.Writer, c *client.AccountCoverage) error {
			return show.Coverage(w, c, missing)
		})
	})
	api.Param(cmd, "from", "first day, such as 2026-11-15")
	api.Param(cmd, "to", "last day, inclusive")
	cmd.Flags().BoolVar(&missing, "missing", false, "only what is not complete; --output json has all")
	cmd.AddCommand(newCoverageHoles(a), newCoverageUntrusted(a))
	return cmd
}
