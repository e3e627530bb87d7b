package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newMigrateStatus(a *settings.Source) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Lists the migrations and whether they were applied",
		Long:    `Lists every migration of both databases. Exits with 1 if the tables are older or newer than this program.`,
		Example: `  adsync migrate status --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, _ settings.Config,
				_ *slog.Logger) error {
				list, err := s.MigrationStatus(ctx)
				if err != nil {
					return err
				}
				return errors.Join(show.Migrations(cmd.OutOrStdout(), list), s.CheckSchema(ctx))
			})
		},
	}
}
