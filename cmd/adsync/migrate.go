package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newMigrate(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Creates, upgrades and inspects the tables",
		Long: `The tables are in two databases, store.config and store.data, which must exist. Migrations are numbered and go
forward; "adsync serve" refuses tables that are older or newer than itself.

To upgrade: run "adsync migrate up" of the new release, then replace the consumers, then the producers.`,
		Example: `  adsync migrate status --config adsync.yaml
  adsync migrate up --config adsync.yaml`,
	})
	cmd.AddCommand(newMigrateUp(a), newMigrateDown(a), newMigrateStatus(a))
	return cmd
}
