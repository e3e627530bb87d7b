package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/standalone"
)

func (a *app) newBind() *cobra.Command {
	var simulator string
	cmd := &cobra.Command{
		Use:   "bind",
		Short: "Makes the accounts of a simulator those of a deployment",
		Long: `Writes the apps, logins with their tokens, accounts, call limits and bindings of simulated platforms
("adsync simulate") into the config database, as a person would copy them from the platforms' developer
consoles: a deployment for trials and tests then works on them. It prints the setting that "adsync serve"
needs to reach them. The tables must be there ("adsync migrate up"), and secret.keys be those of the
deployment. A config database with bindings stays as it is.`,
		Example: `  adsync bind --simulator http://127.0.0.1:9090 --config adsync.yaml`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u, err := url.Parse(simulator); err != nil || u.Scheme != "http" || u.Host == "" {
				return usagef("--simulator is %q: want the address of an adsync simulate, as http://host:port", simulator)
			}
			return a.withStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg Config, _ *slog.Logger) error {
				box, err := secret.NewBox(cfg.Secret.Keys...)
				if err != nil {
					return err
				}
				if err := s.CheckSchema(ctx); err != nil {
					return err
				}
				b, err := standalone.Bind(ctx, s, box, simulator)
				if err != nil {
					return fmt.Errorf("bind the accounts of %s: %w", simulator, err)
				}
				out := cmd.OutOrStdout()
				if b.Written {
					fmt.Fprintf(out, "%d simulated accounts are bound.\n", b.Accounts)
				} else {
					fmt.Fprintln(out, "There are bindings already: nothing was written.")
				}
				fmt.Fprint(out, "\nadsync serve reaches them with these settings:\n\nmedia:\n  base_url:\n")
				for _, name := range slices.Sorted(maps.Keys(b.BaseURLs)) {
					fmt.Fprintf(out, "    %s: %s\n", name, b.BaseURLs[name])
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&simulator, "simulator", "", "address of the simulator, as http://host:port")
	return cmd
}
