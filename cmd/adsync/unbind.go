package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"adsync/base/day"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newUnbind(a *settings.Source) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "unbind MEDIA/ACCOUNT",
		Short: "Ends the pulling of an account",
		Long: `Ends the pulls of an account, apart from those that run. Its rows stay in the tables. From tomorrow on, or
from --from, it belongs to no game: figures of those days go to "unassigned". "adsync bind account" binds it
again; the task system.fill then orders the days between.`,
		Example: `  adsync unbind {media}/20000001`,
		Args:    usage.Account,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkDay("from", from); err != nil {
				return err
			}
			return withAccount(a, cmd, args[0], func(ctx context.Context, s *store.Store, account storesettings.Account) error {
				return unbind(ctx, cmd.OutOrStdout(), s, account, day.Day(from))
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first day without a game (tomorrow if not given)")
	return cmd
}

func unbind(ctx context.Context, out io.Writer, s *store.Store, account storesettings.Account, from day.Day) error {
	if from == "" {
		today, err := todayOf(ctx, s, account)
		if err != nil {
			return err
		}
		// The money spent today was spent for its game.
		from = today.Add(1)
	}
	// This comes first: what is pulled meanwhile should still have its game.
	if err := s.BindAccounts(ctx, operator(), []int64{account.ID}, false); err != nil {
		return err
	}
	before, after, err := s.Rebind(ctx, operator(), account.ID, func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: from, To: summaries.LastDay}, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s/%s is no longer pulled.\n", account.Media, table.Plain(account.ExternalID))
	return show.Rebound(out, before, after)
}
