package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
	"adsync/producer/binding"
)

func newBindAccount(a *settings.Source) *cobra.Command {
	var order binding.Order
	cmd := api.Command(a, &cobra.Command{
		Use:   "account MEDIA/ACCOUNT",
		Short: "Binds one account, moves it to another game, or corrects a wrong binding",
		Long: `Has an account pulled that is known, and says to which game it belongs. With --dry-run it
shows the days and the sums that would move, and changes nothing.

An account's first game applies to all its figures. Another game is a move: it applies from today on, or from
--from to --to. With --correct the present binding was wrong: all its days go to the right game. Within two minutes
both move the summaries of the days affected from the old game to the new one.

--login chooses the login that the account is pulled with while that can be used, where several reach it.

` + whereBindingsAre,
		Example: `  adsync bind account {media}/20000001 --game starfall --os ios
  adsync bind account {media}/20000001 --game tinyfarm --os ios --from 2026-12-01 --dry-run
  adsync bind account {media}/20000001 --game tinyfarm --os android --correct`,
		Args: usage.Account,
	}, func(r *api.Request, args []string) error {
		if wrong := order.Check(clock.System{}.Now()); len(wrong) > 0 {
			return flagError(wrong[0])
		}
		return rebind(a, r, args[0], order.DryRun,
			func(ctx context.Context, p api.Producer, media, id string) (client.Rebinding, error) {
				return p.BindAccount(ctx, media, id, client.BindRequest(order))
			},
			func(ctx context.Context, c binding.Change) (client.Rebinding, error) { return c.Bind(ctx, order) })
	})
	flags := cmd.Flags()
	flags.StringVar(&order.Game, "game", "", "code of the game that it advertises")
	flags.StringVar(&order.GameName, "game-name", "", "name of the game, if its code is new")
	flags.StringVar(&order.OS, "os", "", "what the game runs on: ios, android or pc")
	flags.StringVar(&order.From, "from", "", "first day, such as 2026-11-15, in the account's time zone")
	flags.StringVar(&order.To, "to", "", "last day, if it is not to hold forever")
	flags.BoolVar(&order.Correct, "correct", false, "the present binding was wrong: rewrite its days")
	flags.StringVar(&order.Login, "login", "", "the login to pull it with")
	flags.BoolVar(&order.DryRun, "dry-run", false, "only show what would change")
	return cmd
}

// whereBindingsAre is what the help of commands says that change one account.
const whereBindingsAre = `It asks a producer's API where --server or ` + settings.ServerVariable +
	` names one, or where no database is configured, and needs an
admin's token there. Otherwise it works on the tables.`

// rebind changes the bindings of an account by a producer, or in the tables, and prints what has changed.
func rebind(
	a *settings.Source, r *api.Request, account string, dryRun bool,
	byProducer func(ctx context.Context, p api.Producer, media, id string) (client.Rebinding, error),
	inTables func(ctx context.Context, c binding.Change) (client.Rebinding, error),
) error {
	var answer client.Rebinding
	usesTables, err := tablesConfigured(a, r.Command)
	switch {
	case err != nil:
		return err
	case usesTables:
		err = withAccount(a, r.Command, account, func(ctx context.Context, c binding.Change) (err error) {
			c.DryRun = dryRun
			answer, err = inTables(ctx, c)
			if wrong, is := errors.AsType[*config.FieldError](err); is {
				return flagError(wrong)
			}
			return err
		})
	default:
		var p api.Producer
		if p, err = r.Producer(); err != nil {
			return err
		}
		media, id := storesettings.SplitName(account)
		if media == "" {
			media = "-" // The producer finds the platform.
		}
		answer, err = byProducer(r.Context(), p, media, id)
		err = api.WithRemedy(err)
	}
	if err != nil {
		return err
	}
	document, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return api.Print(r, document, show.Rebound)
}

// flagError is the error of a field of an order as that of its flag.
func flagError(wrong *config.FieldError) error {
	flag, want := strings.ReplaceAll(wrong.Key, "_", "-"), strings.ReplaceAll(wrong.Want, "game_name", "game-name")
	if wrong.Value == "" {
		return usage.Errorf("--%s: want %s", flag, want)
	}
	return usage.Errorf("--%s is %q: want %s", flag, wrong.Value, want)
}

// tablesConfigured reports whether a command works on the tables: a database is configured, and no producer is named.
func tablesConfigured(a *settings.Source, cmd *cobra.Command) (bool, error) {
	if cmd.Flags().Changed("server") || settings.Variable(a.Environ, settings.ServerVariable) != "" {
		return false, nil
	}
	_, sources, err := a.Load(cmd, "unbind")
	if err != nil {
		return false, err
	}
	return sources.Of("store.config.writer") != "default", nil
}

// withAccount opens the databases for a change of one account.
func withAccount(a *settings.Source, cmd *cobra.Command, name string,
	work func(context.Context, binding.Change) error) error {
	return a.WithStore(cmd, "unbind", func(ctx context.Context, s *store.Store, _ settings.Config, _ *slog.Logger) error {
		if err := s.CheckSchema(ctx); err != nil {
			return err
		}
		found, err := s.NamedAccounts(ctx, "", []string{name})
		if err != nil {
			return err
		}
		account, ok := found[name]
		media, externalID := storesettings.SplitName(name)
		if !ok && media == "" {
			return fmt.Errorf(
				"%q is no account that is known here, or one of several platforms: want MEDIA/ACCOUNT, such as %s/20000001", name,
				usage.SomePlatform())
		}
		if !ok {
			return fmt.Errorf(
				"%s has no account %q that is known here: accounts come in when a login is authorised, and with the task "+
					"%s.account_list", media, externalID, media)
		}
		now, err := s.Config.Now(ctx)
		if err != nil {
			return fmt.Errorf("read the database's time: %w", err)
		}
		return work(ctx, binding.Change{Store: s, Actor: operator(), Account: account, Now: now})
	})
}
