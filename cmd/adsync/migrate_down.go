package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/jobs"
)

func newMigrateDown(a *settings.Source) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Reverts the newest migration of each database, with the rows of its tables",
		Long: `Reverts the newest migration of each database, and of the job queue's tables. Tables that it created are
DROPPED with their rows. It is meant for development: to return to an older release, restore a backup.`,
		Example: `  adsync migrate down --yes --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return usage.Errorf("this drops tables with their rows: add --yes to do it")
			}
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, cfg settings.Config,
				logger *slog.Logger) error {
				err := withJobs(ctx, cfg, logger, func(s jobs.Stores) error { return s.MigrateDown(ctx) })
				return errors.Join(err, s.MigrateDown(ctx))
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "drop the data")
	return cmd
}
