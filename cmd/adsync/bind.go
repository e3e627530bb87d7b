package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/media"
	"adsync/standalone"
)

func newBind(a *settings.Source) *cobra.Command {
	var simulator string
	cmd := &cobra.Command{
		Use:   "bind",
		Short: "Authorises logins, and binds accounts to games",
		Long: `"adsync bind {media}" and the same command of another platform authorise a login, which a person confirms in a
browser, and set which of its accounts are pulled, and for which game. "adsync bind account" changes one account.

With --simulator it writes the apps, logins with their tokens, accounts, call limits and bindings of simulated
platforms ("adsync simulate") into the config database, for a deployment for trials and tests. It prints the
settings that "adsync serve" needs to reach them. A config database with bindings stays as it is.

The commands ask a producer's API where --server or ` + settings.ServerVariable + ` names one, or where no database is
configured, and need an admin's token there. Otherwise they work on the tables, which must be there ("adsync migrate
up"); there "adsync bind {media}" needs the secret.keys of the deployment to authorise a login. With --simulator the
command works on the tables, and needs these keys.`,
		Example: `  adsync bind {media} --app-id 1110000001 ` +
			`--redirect-uri https://adsync.example.com/oauth/{media}/callback --wait
  adsync bind account {media}/20000001 --game starfall --os ios
  adsync bind --simulator http://127.0.0.1:9090 --config adsync.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var known []string
			for _, c := range cmd.Commands() {
				known = append(known, c.Name())
			}
			return usage.Errorf("%q cannot be bound: want one of %s", args[0], strings.Join(known, ", "))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u, err := url.Parse(simulator); err != nil || u.Scheme != "http" || u.Host == "" {
				return usage.Errorf("--simulator is %q: want the address of an adsync simulate, as http://host:port", simulator)
			}
			return a.WithStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg settings.Config,
				logger *slog.Logger) error {
				box, err := secret.OpenBox(cfg.Secret, logger)
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
				if b.Accounts > 0 {
					fmt.Fprintf(out, "%s bound.\n", plural.Count(b.Accounts, "simulated account is", "simulated accounts are"))
				} else {
					fmt.Fprintln(out, "The platforms have bindings already: nothing was written.")
				}
				fmt.Fprint(out, "\nadsync serve reaches them with these settings:\n\nmedia:\n  base_url:\n")
				for _, name := range slices.Sorted(maps.Keys(b.BaseURLs)) {
					fmt.Fprintf(out, "    %s: %s\n", name, b.BaseURLs[name])
				}
				fmt.Fprint(out, "  authorise_url:\n")
				for _, name := range slices.Sorted(maps.Keys(b.AuthoriseURLs)) {
					fmt.Fprintf(out, "    %s: %s\n", name, b.AuthoriseURLs[name])
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&simulator, "simulator", "", "address of the simulator, as http://host:port")
	for _, p := range engine.Platforms() {
		if _, ok := p.(media.Authoriser); ok {
			cmd.AddCommand(newBindMedia(a, p.Name()))
		}
	}
	cmd.AddCommand(newBindAccount(a))
	return cmd
}

// gameFlags are the flags of a game that accounts belong to.
type gameFlags struct {
	game, gameName, os, from string
}

// systems are the systems that games run on.
var systems = []string{"ios", "android", "pc"}

func (f *gameFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.game, "game", "", "code of the game that they advertise")
	cmd.Flags().StringVar(&f.gameName, "game-name", "", "name of the game, if its code is new")
	cmd.Flags().StringVar(&f.os, "os", "", "the system that the game runs on: ios, android or pc")
	cmd.Flags().StringVar(&f.from, "from", "", "first day, such as 2026-11-15, in the account's time zone")
}

func (f *gameFlags) check() error {
	if (f.game == "") != (f.os == "") {
		return usage.Errorf("--game and --os go together")
	}
	if f.game == "" && (f.gameName != "" || f.from != "") {
		return usage.Errorf("--game-name and --from need --game")
	}
	if f.os != "" {
		if err := usage.OneOf("os", f.os, systems...); err != nil {
			return err
		}
	}
	return checkDay("from", f.from)
}

// checkDay checks a day of a binding.
func checkDay(flag, value string) error {
	if value == "" {
		return nil
	}
	if _, err := day.GivenAhead(value, clock.System{}.Now()); err != nil {
		return usage.Errorf("--%s is %q: %s", flag, value, err)
	}
	return nil
}
