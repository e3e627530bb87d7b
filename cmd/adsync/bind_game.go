package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/usage"
)

// gameFlags say to what accounts belong.
type gameFlags struct {
	game, gameName, os, from string
}

// systems are what games run on.
var systems = []string{"ios", "android", "pc"}

func (f *gameFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.game, "game", "", "code of the game that they advertise")
	cmd.Flags().StringVar(&f.gameName, "game-name", "", "name of the game, if its code is new")
	cmd.Flags().StringVar(&f.os, "os", "", "what the game runs on: ios, android or pc")
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

// known finds the game, and writes it if it is new and has a name: a slip of the pen must not become a game.
func (f *gameFlags) known(ctx context.Context, s *store.Store) error {
	games, err := s.Games(ctx)
	if err != nil || f.game == "" {
		return err
	}
	if slices.Contains(games, f.game) {
		return nil
	}
	if f.gameName == "" {
		return usage.Errorf("there is no game %q: want one of %s, or a new one with its name: --game-name NAME", f.game, strings.Join(games, ", "))
	}
	return s.PutGame(ctx, operator(), f.game, f.gameName)
}
