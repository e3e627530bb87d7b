package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/media/token"
)

func newKeys(a *settings.Source) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Shows which keys the tables are sealed with, and seals them with the first",
		Long: `Lists the keys that platform tokens and the secrets of apps are sealed with in the tables, by their names in secret.keys or in the
file of secret.keys_file, and how much of each. "adsync keys reseal" seals all of it with the first key. It works on the tables while everything runs.`,
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

// withBox opens the config database and the keys for one piece of work.
func withBox(a *settings.Source, cmd *cobra.Command, work func(context.Context, *store.Store, *secret.Box) error) error {
	return a.WithStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg settings.Config, logger *slog.Logger) error {
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
	t := table.New(w)
	fmt.Fprintln(t, "KEY\tSEALED WITH IT\tNOTE")
	for i, id := range box.IDs() {
		note := "may be removed when all processes have the first one"
		switch {
		case i == 0:
			note = "seals"
		case counts[id] > 0:
			note = "opens: adsync keys reseal"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\n", id, counts[id], note)
		delete(counts, id)
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(t, "%s\t%d\tmissing: nothing opens these\n", table.Plain(id), counts[id])
	}
	return t.Flush()
}
