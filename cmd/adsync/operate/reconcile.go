package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newReconcile(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "reconcile",
		Short: "Lists figures of accounts that are not the sums of their levels",
		Long: `Lists what the task system.reconcile found: figures of settled days for which the account level differs from
the sum of a level below. Each such day was ordered once to be pulled again; CONFIRMED is the time when it
still differed after that. A line is one day of an account, with the levels and figures that differ, and the
figure that is furthest apart, money in the account's currency. --output json has each figure, money in
millionths.`,
		Example: `  adsync reconcile --media {media}
  adsync reconcile --state all --day 2026-11-20`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/reconciliation", show.Differences) })
	api.Param(cmd, "media", "only of this platform")
	api.Param(cmd, "state", "open, mended or all (open if not given)")
	api.Param(cmd, "day", "only of this day, such as 2026-11-20")
	api.Param(cmd, "limit", "how many (100 if not given)")
	return cmd
}
