package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/jobs"
)

func newMigrate(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Creates, upgrades and inspects the tables",
		Long: `The tables are in two databases, store.config and store.data, which must exist. Those of the job queue are in
store.data too, unless jobs.store.writer and jobs.pools name others. Migrations are numbered and go forward; "adsync
serve" refuses tables that are older or newer than itself.

To upgrade: run "adsync migrate up" of the new release, then replace the consumers, then the producers.`,
		Example: `  adsync migrate status --config adsync.yaml
  adsync migrate up --config adsync.yaml`,
	})
	cmd.AddCommand(newMigrateUp(a), newMigrateDown(a), newMigrateStatus(a))
	return cmd
}

// withJobs calls work with the databases of the job queue. A data database behind a sharding proxy has no place for
// them.
func withJobs(ctx context.Context, cfg settings.Config, logger *slog.Logger, work func(jobs.Stores) error) error {
	if !hasJobs(cfg) {
		return nil
	}
	s, err := cfg.Jobs.Open(ctx, cfg.Store.Data, logger)
	if err != nil {
		return err
	}
	return errors.Join(work(s), s.Close())
}
