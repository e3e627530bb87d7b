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
		Short: "Seals everything with the first key",
		Long: `Seals with the first key what the tables hold that was sealed with another one, a row at a time. Everything runs on meanwhile; it may be cut
off, and begun again. When all processes have the first key, and this shows that nothing is sealed with an old one, the old one may be removed.
Texts that do not open stay as they are: they are named, and it exits with 1.`,
		Example: `  adsync keys reseal --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBox(a, cmd, func(ctx context.Context, s *store.Store, box *secret.Box) error {
				n, err := token.Reseal(ctx, s, box)
				if n > 0 {
					after, _ := json.Marshal(map[string]any{"key": box.IDs()[0], "texts": n}) // It cannot fail.
					_, noteErr := s.AddAudit(ctx, storesettings.Audit{Actor: operator(), Action: "keys.reseal", Object: "secret.keys", After: string(after)})
					err = errors.Join(err, noteErr)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s sealed anew.\n\n", plural.Count(n, "text was", "texts were"))
				if printErr := printKeys(ctx, cmd.OutOrStdout(), s, box); err == nil {
					err = printErr
				}
				return err
			})
		},
	}
}
