package main

import (
	"context"

	"github.com/spf13/cobra"

	"adsync/base/day"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/producer/binding"
)

func newUnbind(a *settings.Source) *cobra.Command {
	var from string
	var dryRun bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "unbind MEDIA/ACCOUNT",
		Short: "Ends the pulling of an account",
		Long: `Nothing of the account is pulled from now on, but for what is under way. What is in the tables
stays. From tomorrow on, or from --from, it belongs to no game: what is known of those days goes to "unassigned".
"adsync bind account" binds it again; the task system.fill then orders the days between. With --dry-run it shows the
days and the sums that would move, and changes nothing.

` + whereBindingsAre,
		Example: `  adsync unbind {media}/20000001 --dry-run`,
		Args:    usage.Account,
	}, func(r *api.Request, args []string) error {
		if err := checkDay("from", from); err != nil {
			return err
		}
		return rebind(a, r, args[0], dryRun,
			func(ctx context.Context, p api.Producer, media, id string) (client.Rebinding, error) {
				params := client.UnbindAccountParams{From: from}
				if dryRun {
					params.DryRun = "true"
				}
				return p.UnbindAccount(ctx, media, id, params)
			},
			func(ctx context.Context, c binding.Change) (client.Rebinding, error) {
				return c.Unbind(ctx, day.Day(from))
			})
	})
	cmd.Flags().StringVar(&from, "from", "", "first day without a game (tomorrow if not given)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would change")
	return cmd
}
