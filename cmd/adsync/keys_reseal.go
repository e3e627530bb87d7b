package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/base/secret"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/media/token"
)

func newKeysReseal(a *settings.Source) *cobra.Command {
	return &cobra.Command{
		Use:   "reseal",
		Short: "Encrypts all secrets in the tables with the first key",
		Long: `Encrypts with the first key the texts that another key encrypts, one row at a time. Everything may run
meanwhile; it may be interrupted and started again. An old key may be removed when all processes have the
first key, and this shows that nothing is encrypted with the old one. Texts that no key decrypts stay as they
are: they are named, and it exits with 1.`,
		Example: `  adsync keys reseal --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBox(a, cmd, func(ctx context.Context, s *store.Store, box *secret.Box) error {
				n, err := token.Reseal(ctx, s, box)
				if n > 0 {
					after, _ := json.Marshal(map[string]any{"key": box.IDs()[0], "texts": n}) // It cannot fail.
					_, noteErr := s.AddAudit(ctx, storesettings.Audit{Actor: operator(), Action: "keys.reseal", Object: "secret.keys",
						After: string(after)})
					err = errors.Join(err, noteErr)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s encrypted with the first key.\n\n", plural.Count(n, "text was", "texts were"))
				if printErr := printKeys(ctx, cmd.OutOrStdout(), s, box); err == nil {
					err = printErr
				}
				return err
			})
		},
	}
}
