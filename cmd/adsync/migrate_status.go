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
	"adsync/jobs"
)

func newMigrateStatus(a *settings.Source) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Lists the migrations and whether they were applied",
		Long: `Lists every migration of both databases and of the job queue's tables. Exits with 1 if the tables are older or
newer than this program.`,
		Example: `  adsync migrate status --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, cfg settings.Config,
				logger *slog.Logger) error {
				list, err := s.MigrationStatus(ctx)
				if err != nil {
					return err
				}
				wrong := s.CheckSchema(ctx)
				err = withJobs(ctx, cfg, logger, func(s jobs.Stores) error {
					more, err := s.MigrationStatus(ctx)
					list = append(list, more...)
					wrong = errors.Join(wrong, s.CheckSchema(ctx))
					return err
				})
				return errors.Join(err, show.Migrations(cmd.OutOrStdout(), list), wrong)
			})
		},
	}
}
