package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/media/oauth"
	"adsync/media/token"
)

// callbackPoll is the pause between two reads of the table while awaitCallback waits.
const callbackPoll = time.Second

// bindFlags are the flags of "adsync bind MEDIA".
type bindFlags struct {
	appID, redirectURI, login string
	wait, code                bool
	accounts                  []string
	gameFlags
}

func newBindMedia(a *settings.Source, media string) *cobra.Command {
	f := &bindFlags{}
	cmd := &cobra.Command{
		Use:   media,
		Short: "Authorises a login of " + media + " and binds its accounts",
		Long: `With --redirect-uri it writes the app and prints the address where a login is authorised: the person who holds
the accounts opens it in a browser within 10 minutes. The platform then sends the browser to the redirect URI, which
is /oauth/` + media + `/callback of a producer and must be the one that the app has on the platform. The producer
stores the login, encrypted, and lists its accounts; --wait waits for them and prints them. If the platform cannot
reach a producer, --code reads the code that the browser's address shows at the end.

The app's secret comes from ` + settings.AppSecretVariable + ` or from the terminal. A known app needs none.

With --accounts it binds accounts of a login, so that they are pulled: those named, or all of them, also those that
the login reaches later. Other accounts are known and not pulled. With --game they belong to a game: from the
beginning of their figures, or from a day. "all" skips accounts that have a game: "adsync bind account" moves them.`,
		Example: `  adsync bind ` + media + ` --app-id 1110000001 --wait \
    --redirect-uri https://adsync.example.com/oauth/` + media + `/callback
  adsync bind ` + media + ` --app-id 1110000001 --accounts all --game starfall --os ios
  adsync bind ` + media + ` --app-id 1110000001 --login 20000001 --accounts 20000001,20000058 \
    --game starfall --os android --from 2026-11-01`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.WithStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg settings.Config,
				logger *slog.Logger) error {
				if err := s.CheckSchema(ctx); err != nil {
					return err
				}
				return bindMedia(ctx, a, cmd, s, cfg, logger, media, f)
			})
		},
	}
	cmd.Flags().StringVar(&f.appID, "app-id", "", "the app's id on the platform")
	cmd.Flags().StringVar(&f.redirectURI, "redirect-uri", "", "where the platform sends the browser: https://HOST/oauth/"+
		media+"/callback")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the callback")
	cmd.Flags().BoolVar(&f.code, "code", false, "read the code from the terminal, instead of a callback")
	cmd.Flags().StringVar(&f.login, "login", "",
		"the login whose accounts are bound; not needed for an app with one login, nor with --wait or --code")
	cmd.Flags().StringSliceVar(&f.accounts, "accounts", nil, "all, or the platform's ids, such as 20000001 or "+media+
		"/20000001")
	f.add(cmd)
	return cmd
}

func (f *bindFlags) check() error {
	switch {
	case f.appID == "":
		return usage.Errorf("--app-id is missing: want the app's id on the platform")
	case f.redirectURI == "" && len(f.accounts) == 0:
		return usage.Errorf("want --redirect-uri to authorise a login, --accounts to bind accounts of one, or both")
	case f.redirectURI == "" && (f.wait || f.code):
		return usage.Errorf("--wait and --code need --redirect-uri")
	case f.wait && f.code:
		return usage.Errorf("--wait and --code exclude each other")
	case f.redirectURI != "" && len(f.accounts) > 0 && !f.wait && !f.code:
		return usage.Errorf("--accounts with --redirect-uri needs --wait or --code: the accounts come with the callback")
	case f.game != "" && len(f.accounts) == 0:
		return usage.Errorf("--game needs --accounts")
	case slices.Contains(f.accounts, "all") && len(f.accounts) > 1:
		return usage.Errorf("--accounts is all, or a list of ids")
	}
	if f.redirectURI != "" {
		if err := oauth.CheckRedirectURI(f.redirectURI); err != nil {
			return usage.Errorf("--redirect-uri: %s", err)
		}
	}
	return f.gameFlags.check()
}

func bindMedia(ctx context.Context, a *settings.Source, cmd *cobra.Command, s *store.Store, cfg settings.Config,
	logger *slog.Logger, media string, f *bindFlags) error {
	if err := f.ensureGame(ctx, s); err != nil {
		return err
	}
	loginID := int64(0)
	if f.redirectURI != "" {
		id, err := authorise(ctx, a, cmd, s, cfg, logger, media, f)
		if err != nil || (!f.wait && !f.code) {
			return err
		}
		loginID = id
	}
	if len(f.accounts) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "\nAccounts that are not bound are not pulled. To bind them: "+
			"adsync bind %s --app-id %s --accounts all|ID,ID --game CODE --os OS\n", media, f.appID)
		return nil
	}
	login, err := pickLogin(ctx, s, media, f, loginID)
	if err != nil {
		return err
	}
	return bindLoginAccounts(ctx, cmd.OutOrStdout(), s, login, f)
}

// authorise writes the app and begins an authorisation. With --wait or --code it waits for the login and returns its
// id.
func authorise(ctx context.Context, a *settings.Source, cmd *cobra.Command, s *store.Store, cfg settings.Config,
	logger *slog.Logger, media string, f *bindFlags) (loginID int64, err error) {
	box, err := secret.OpenBox(cfg.Secret, logger)
	if err != nil {
		return 0, err
	}
	if err := putApp(ctx, a, cmd, s, box, media, f.appID); err != nil {
		return 0, err
	}
	cache, err := redis.Open(cfg.Redis)
	if err != nil {
		return 0, fmt.Errorf("set up Redis: %w", err)
	}
	defer func() { _ = cache.Close() }()
	databaseTime := clock.NewDatabase(s.Data.Now, logger)
	if err := databaseTime.Start(ctx); err != nil {
		return 0, err
	}
	defer databaseTime.Stop()
	parts := engine.New(engine.Deps{
		Store: s, Redis: cache, Keys: redis.NewKeys(cfg.Redis.KeyPrefix), Box: box,
		Planning: databaseTime, Waiting: databaseTime, Node: node(), Logger: logger, Registerer: telemetry.NewRegistry(),
	}, cfg.RateLimit, cfg.Media)
	flow := parts.Flows()[media]
	request, err := flow.Begin(ctx, f.appID, f.redirectURI, operator())
	if err != nil {
		return 0, err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Have the person who holds the accounts open this address within %d minutes:\n\n%s\n\n",
		int(storesettings.OAuthStateLasts.Minutes()), request.URL)
	switch {
	case f.code:
		fmt.Fprintf(out, "The browser ends at an address with %s=…\n", flow.CodeParameter())
		code, err := prompt.Secret(ctx, cmd, "The code in it")
		if err != nil {
			return 0, err
		}
		limits := parts.Limits()
		if err := limits.Start(ctx); err != nil {
			return 0, err
		}
		defer limits.Stop()
		found, err := flow.Complete(ctx, request.State, code)
		parts.Tokens().Stop()
		if err != nil {
			return 0, err
		}
		return found.LoginID, errors.Join(show.Authorised(out, cmp.Or(found.Name, found.Login), found.Accounts),
			noteError(found.Note))
	case f.wait:
		return awaitCallback(ctx, out, s, media, request.ID)
	}
	fmt.Fprintf(out, "The browser then returns to %s, which stores the login and shows its accounts.\n", f.redirectURI)
	return 0, nil
}

// putApp writes the app with the secret from the environment or the terminal. A known app keeps its secret if the
// environment has none.
func putApp(ctx context.Context, a *settings.Source, cmd *cobra.Command, s *store.Store, box *secret.Box,
	media, appID string) error {
	given := secret.NewText(settings.Variable(a.Environ, settings.AppSecretVariable))
	if given.IsZero() {
		_, err := s.App(ctx, media, appID)
		if err == nil {
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if given, err = prompt.Secret(ctx, cmd, "Secret of app "+appID); err != nil {
			return fmt.Errorf("the app's secret is needed, from %s or the terminal: %w", settings.AppSecretVariable, err)
		}
	}
	if known, err := token.OpenApp(ctx, s, box, media, appID); err == nil && known.Secret.Reveal() == given.Reveal() {
		return nil // The app is enabled and has this secret.
	}
	entry := storesettings.Audit{Actor: operator(), Action: "app.put", Object: "app/" + media + "/" + appID}
	if _, err := s.AddAudit(ctx, entry); err != nil {
		return err
	}
	return token.PutApp(ctx, s, box, media, appID, given)
}

// awaitCallback waits until a producer has handled the callback, or the callback can no longer come.
func awaitCallback(ctx context.Context, out io.Writer, s *store.Store, media, id string) (
	loginID int64, err error,
) {
	fmt.Fprintln(out, "Waiting for it …")
	ticker := time.NewTicker(callbackPoll)
	defer ticker.Stop()
	for {
		row, err := s.OAuthState(ctx, id)
		switch {
		case err != nil:
			return 0, err
		case row.Step == storesettings.OAuthFailed:
			return 0, fmt.Errorf("the authorisation failed: %s", row.Note)
		case row.Step == storesettings.OAuthDone || row.Step == storesettings.OAuthStored && row.UsedFor > storedGrace:
			logins, err := s.Logins(ctx, media, row.AppID)
			if err != nil {
				return 0, err
			}
			name := strconv.FormatInt(row.TokenID, 10)
			for _, l := range logins {
				if l.ID == row.TokenID {
					name = cmp.Or(l.Name, l.Login)
				}
			}
			accounts, err := s.LoginAccounts(ctx, row.TokenID)
			if err != nil {
				return 0, err
			}
			if row.Step == storesettings.OAuthStored {
				row.Note = cmp.Or(row.Note, fmt.Sprintf(
					"Its accounts were not all listed within %s; the task %s.account_list lists them.", storedGrace, media))
			}
			return row.TokenID, errors.Join(show.Authorised(out, name, accounts), noteError(row.Note))
		case row.Step == storesettings.OAuthWaiting && row.Left <= 0:
			return 0, errors.New("nobody authorised it in time: run the command again")
		case row.Step == storesettings.OAuthExchanging && row.UsedFor > exchangeGrace:
			return 0, errors.New("the callback came, but its process died before it exchanged the code, which is used up: " +
				"run the command again")
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticker.C:
		}
	}
}

// The process that handles a callback may die: awaitCallback waits for exchangeGrace for the exchange of the code,
// and for storedGrace for the list of accounts.
const (
	exchangeGrace = 2 * time.Minute
	storedGrace   = 3 * time.Minute
)

// noteError returns an error with the note on what remains to be done for an authorised login, or nil without a note.
func noteError(note string) error {
	if note == "" {
		return nil
	}
	return fmt.Errorf("the login is authorised and stored, but: %s", note)
}

// pickLogin returns the login whose accounts are bound.
func pickLogin(ctx context.Context, s *store.Store, media string, f *bindFlags, id int64) (storesettings.Login, error) {
	logins, err := s.Logins(ctx, media, f.appID)
	if err != nil {
		return storesettings.Login{}, err
	}
	var names []string
	for _, l := range logins {
		if id == l.ID || (id == 0 && (l.Login == f.login || (f.login == "" && len(logins) == 1))) {
			return l, nil
		}
		names = append(names, l.Login)
	}
	if len(names) == 0 {
		return storesettings.Login{}, usage.Errorf("app %s of %s has no login yet: authorise one with --redirect-uri",
			f.appID, media)
	}
	return storesettings.Login{}, usage.Errorf("--login is %q: want one of %s", f.login, strings.Join(names, ", "))
}

// bindLoginAccounts binds the accounts of --accounts.
func bindLoginAccounts(ctx context.Context, out io.Writer, s *store.Store, login storesettings.Login,
	f *bindFlags) error {
	all := slices.Equal(f.accounts, []string{"all"})
	if all {
		// This comes first: an account that appears meanwhile is bound by it, or is in the list below.
		if err := s.SetChoose(ctx, login.ID, false); err != nil {
			return err
		}
	}
	accounts, err := s.LoginAccounts(ctx, login.ID)
	if err != nil {
		return err
	}
	if accounts, err = selectAccounts(login.Media, accounts, f, all); err != nil {
		return err
	}
	changes := all && login.Choose
	for _, account := range accounts {
		changes = changes || !account.Bound || f.game != "" && !account.Games
	}
	// Each account that changes has an audit entry too. This one has the request.
	audit := storesettings.Audit{
		Actor: operator(), Action: "login.bind", Object: fmt.Sprintf("login/%d", login.ID),
		After: fmt.Sprintf(`{"accounts": %d, "all": %t, "game": %q, "os": %q}`, len(accounts), all, f.game, f.os),
	}
	if changes {
		if _, err := s.AddAudit(ctx, audit); err != nil {
			return err
		}
	}
	ids := make([]int64, len(accounts))
	var bindings []summaries.Binding
	for i, account := range accounts {
		ids[i] = account.ID
		if f.game != "" && !account.Games {
			bindings = append(bindings, summaries.Binding{
				AccountID: account.ID, From: cmp.Or(day.Day(f.from), summaries.FirstBoundDay), To: summaries.LastDay, Game: f.game,
				OS: f.os,
			})
		}
	}
	// The game comes first, so that it has the figures of the first pull.
	if err := s.AddBindings(ctx, operator(), bindings); err != nil {
		return err
	}
	if err := s.BindAccounts(ctx, operator(), ids, true); err != nil {
		return err
	}
	if len(ids) == 0 {
		fmt.Fprintf(out, "There was nothing to bind: each account of %s has or had a game.\n",
			table.Plain(cmp.Or(login.Name, login.Login)))
		return nil
	}
	fmt.Fprintf(out, "Bound: %s of %s", plural.Count(len(ids), "account", "accounts"),
		table.Plain(cmp.Or(login.Name, login.Login)))
	if f.game != "" {
		fmt.Fprintf(out, ", %d of them to %s on %s", len(bindings), table.Plain(f.game), f.os)
	}
	fmt.Fprintln(out, ".")
	if all {
		fmt.Fprintln(out, "Accounts that it reaches later are pulled too, without a game until they are bound to one.")
	}
	return nil
}

// selectAccounts returns the accounts of --accounts. For "all" it returns those that never had a game: an unbound
// account stays unbound.
func selectAccounts(media string, accounts []storesettings.LoginAccount, f *bindFlags, all bool) (
	[]storesettings.LoginAccount, error,
) {
	if all {
		return slices.DeleteFunc(accounts, func(a storesettings.LoginAccount) bool { return a.Games }), nil
	}
	var some []storesettings.LoginAccount
	for _, name := range f.accounts {
		of, id := storesettings.SplitName(name)
		if of != "" && of != media {
			return nil, usage.Errorf("--accounts: %q is not an account of %s: want the platform's id, or %s/ID", name, media,
				media)
		}
		i := slices.IndexFunc(accounts, func(a storesettings.LoginAccount) bool { return a.ExternalID == id })
		switch {
		case i < 0:
			return nil, usage.Errorf("--accounts: the login does not reach %q", name)
		case accounts[i].Games && f.game != "":
			return nil, usage.Errorf("--accounts: %s has a game: adsync bind account %s/%s --game %s --os %s moves it", id,
				accounts[i].Media, id, f.game, f.os)
		}
		if !slices.ContainsFunc(some, func(a storesettings.LoginAccount) bool { return a.ID == accounts[i].ID }) {
			some = append(some, accounts[i])
		}
	}
	return some, nil
}
