package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newRestore(a *settings.Source) *cobra.Command {
	var configOnly bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Writes a backup of the task system.backup into new databases",
		Long: `Writes a backup into the databases of the settings. They must be new: create empty databases and run
"adsync migrate up" of the release that made the backup. No process may use them yet. The rows of "migrate up" are
replaced. The file is read whole, and its sum is checked, before anything is written.

Figures are in no backup, and neither is the key of secret.keys, without which logins must be authorised again.
docs/backup.md has the steps.`,
		Example: `  adsync restore adsync-20261129T020000.000Z.ndjson.gz --config adsync.yaml
  adsync restore adsync-20261129T020000.000Z.ndjson.gz --config-only   # the data database is intact`,
		Args: usage.Args(1, "the file of a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			return errors.Join(a.WithStore(cmd, "restore", func(ctx context.Context, s *store.Store, _ settings.Config,
				_ *slog.Logger) error {
				done, err := s.Restore(ctx, file, configOnly)
				if err != nil {
					return fmt.Errorf("restore %s: %w", args[0], err)
				}
				after, _ := json.Marshal(done) // It cannot fail.
				if _, err := s.AddAudit(ctx, storesettings.Audit{Actor: operator(), Action: "restore", Object: "backup",
					After: string(after)}); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s restored. The backup is of %s and has the ledger from %s on.\n",
					plural.Count(int(done.Rows), "row was", "rows were"), done.Head.At.Format("2006-01-02 15:04:05 MST"),
					done.Head.LedgerFrom)
				return nil
			}), file.Close())
		},
	}
	cmd.Flags().BoolVar(&configOnly, "config-only", false,
		"restore the config database alone; the data database stays as it is")
	return cmd
}
