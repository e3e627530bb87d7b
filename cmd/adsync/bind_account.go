package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/day"
	"adsync/base/schedule"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

// accountBindFlags are the flags of "adsync bind account".
type accountBindFlags struct {
	gameFlags
	to, login string
	correct   bool
}

func newBindAccount(a *settings.Source) *cobra.Command {
	f := &accountBindFlags{}
	cmd := &cobra.Command{
		Use:   "account MEDIA/ACCOUNT",
		Short: "Binds one account, moves it to another game, or corrects a wrong binding",
		Long: `Binds a known account, so that it is pulled, to the game that it belongs to.

An account's first game applies to all its figures. Another game is a move: it applies from today on, or from
--from to --to. With --correct the present binding was wrong: all its days go to the right game. Within two minutes
both move the summaries of the days affected from the old game to the new one.

--login selects the login that the account is pulled with, if several reach it and as long as it can be used.`,
		Example: `  adsync bind account {media}/20000001 --game starfall --os ios
  adsync bind account {media}/20000001 --game tinyfarm --os ios --from 2026-12-01
  adsync bind account {media}/20000001 --game tinyfarm --os android --correct`,
		Args: usage.Account,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return withAccount(a, cmd, args[0], func(ctx context.Context, s *store.Store, account storesettings.Account) error {
				return bindAccount(ctx, cmd.OutOrStdout(), s, account, f)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.to, "to", "", "last day, if the binding has an end")
	cmd.Flags().BoolVar(&f.correct, "correct", false, "the present binding was wrong: rewrite its days")
	cmd.Flags().StringVar(&f.login, "login", "", "the login to pull it with")
	return cmd
}

func (f *accountBindFlags) check() error {
	switch {
	case f.correct && f.game == "":
		return usage.Errorf("--correct needs --game and --os")
	case f.correct && (f.from != "" || f.to != ""):
		return usage.Errorf("--correct rewrites the days of the present binding: for other days leave it out" +
			" and name them with --from and --to")
	case f.to != "" && f.from == "":
		return usage.Errorf("--to needs --from")
	case f.to != "" && f.to < f.from:
		return usage.Errorf("--to is %s: want %s or later", f.to, f.from)
	}
	if f.to != summaries.LastDay.String() { // No end, as the table has it.
		if err := checkDay("to", f.to); err != nil {
			return err
		}
	}
	return f.gameFlags.check()
}

// withAccount opens the databases for work on one account.
func withAccount(a *settings.Source, cmd *cobra.Command, name string,
	work func(context.Context, *store.Store, storesettings.Account) error) error {
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
			return fmt.Errorf("%q is not a known account, or several platforms have it: want MEDIA/ACCOUNT, such as %s/20000001",
				name, usage.SomePlatform())
		}
		if !ok {
			return fmt.Errorf("%s has no account %q that is known here: accounts are added when a login is authorised,"+
				" and by the task %s.account_list", media, externalID, media)
		}
		return work(ctx, s, account)
	})
}

// todayOf returns the account's present day by the database's time.
func todayOf(ctx context.Context, s *store.Store, account storesettings.Account) (day.Day, error) {
	now, err := s.Config.Now(ctx)
	if err != nil {
		return "", fmt.Errorf("read the database's time: %w", err)
	}
	zone, err := schedule.Zone(account.Timezone)
	if err != nil {
		return "", fmt.Errorf("account %s: %w", account.ExternalID, err)
	}
	return day.Of(now, zone), nil
}

func bindAccount(ctx context.Context, out io.Writer, s *store.Store, account storesettings.Account,
	f *accountBindFlags) error {
	if err := f.ensureGame(ctx, s); err != nil {
		return err
	}
	today, err := todayOf(ctx, s, account)
	if err != nil {
		return err
	}
	if f.login != "" {
		if err := chooseLogin(ctx, s, account, f.login); err != nil {
			return err
		}
		fmt.Fprintf(out, "It is pulled with the login %s while that login can be used.\n", table.Plain(f.login))
	}
	if f.game != "" {
		before, after, err := s.Rebind(ctx, operator(), account.ID,
			func(have []summaries.Binding) (summaries.Binding, error) { return f.binding(have, today), nil })
		if err != nil {
			return err
		}
		if err := show.Rebound(out, before, after); err != nil {
			return err
		}
	}
	// A change of past days alone does not change whether the account is pulled.
	if f.correct || (f.to != "" && day.Day(f.to) < today) || account.Bound || (f.login != "" && f.game == "") {
		return nil
	}
	if err := s.BindAccounts(ctx, operator(), []int64{account.ID}, true); err != nil {
		return err
	}
	fmt.Fprintln(out, "It is pulled from now on.")
	return nil
}

// binding returns the new binding with its days.
func (f *accountBindFlags) binding(have []summaries.Binding, today day.Day) summaries.Binding {
	b := summaries.Binding{
		From: cmp.Or(day.Day(f.from), today), To: cmp.Or(day.Day(f.to), summaries.LastDay), Game: f.game, OS: f.os,
	}
	switch {
	case len(have) == 0 && f.from == "":
		b.From = summaries.FirstBoundDay
	case f.correct:
		wrong, ok := summaries.BindingOn(have, today)
		if !ok {
			wrong = have[len(have)-1]
		}
		b.From, b.To = wrong.From, wrong.To
	}
	return b
}

// chooseLogin selects the login that the account is pulled with while that can be used. Selecting it again changes
// nothing and adds no audit entry.
func chooseLogin(ctx context.Context, s *store.Store, account storesettings.Account, login string) error {
	logins, err := s.AccountLogins(ctx, account.ID)
	if err != nil {
		return err
	}
	var names []string
	for i := range logins {
		l := &logins[i]
		names = append(names, l.Login.Login)
		if l.Login.Login != login || l.Chosen {
			continue
		}
		chosen := storesettings.Audit{
			Actor: operator(), Action: "account.choose_login",
			Object: "media_account/" + account.Media + "/" + account.ExternalID,
			After:  fmt.Sprintf(`{"login": %q}`, login),
		}
		if _, err := s.AddAudit(ctx, chosen); err != nil {
			return err
		}
		return s.ChooseLogin(ctx, account.ID, l.ID)
	}
	if slices.Contains(names, login) {
		return nil
	}
	return usage.Errorf("--login is %q: the account is in the reach of %s", login, strings.Join(names, ", "))
}
