package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
	"adsync/media/token"
)

func newKeys(a *settings.Source) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Shows which keys encrypt secrets in the tables",
		Long: `Lists the keys that encrypt platform tokens, the secrets of apps and webhooks and the credentials of
destinations in the tables, by their names in secret.keys or in the file of secret.keys_file, with the number of
texts that each encrypts. "adsync keys reseal" encrypts all of them with the first key. It works on the tables
while everything runs.`,
		Example: `  adsync keys --config adsync.yaml
  adsync keys reseal --config adsync.yaml`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBox(a, cmd, func(ctx context.Context, s *store.Store, box *secret.Box) error {
				return printKeys(ctx, cmd.OutOrStdout(), s, box)
			})
		},
	}
	cmd.AddCommand(newKeysReseal(a))
	return cmd
}

// withBox opens the config database and the keys for the work of a command.
func withBox(a *settings.Source, cmd *cobra.Command,
	work func(context.Context, *store.Store, *secret.Box) error) error {
	return a.WithStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg settings.Config,
		logger *slog.Logger) error {
		if err := s.CheckSchema(ctx); err != nil {
			return err
		}
		box, err := secret.OpenBox(cfg.Secret, logger)
		if err != nil {
			return err
		}
		return work(ctx, s, box)
	})
}

func printKeys(ctx context.Context, w io.Writer, s *store.Store, box *secret.Box) error {
	counts, err := token.SealedBy(ctx, s)
	if err != nil {
		return err
	}
	return show.Keys(w, box.IDs(), counts)
}
