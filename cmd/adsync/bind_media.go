package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/store"
	storesettings "adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/media/oauth"
	"adsync/producer/login"
)

// callbackPoll is the pause between two looks at an authorisation.
const callbackPoll = time.Second

// bindFlags are the flags of "adsync bind MEDIA".
type bindFlags struct {
	appID, redirectURI, login, server string
	wait, code                        bool
	accounts                          []string
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
beginning of their figures, or from a day. "all" skips accounts that have a game: "adsync bind account" moves them.

` + whereBindingsAre + ` To authorise a login with them, it needs the
secret.keys of the deployment.`,
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
			return withLogins(a, cmd, f, func(ctx context.Context, l logins) error {
				return bindMedia(ctx, a, cmd, l, media, f)
			})
		},
	}
	cmd.Flags().StringVar(&f.server, "server", "", api.ServerUsage)
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

// logins are the calls of the command. A producer's client has them, and login.Actions, which work on the tables.
type logins interface {
	BeginAuthorisation(ctx context.Context, request client.AuthorisationRequest) (client.AuthorisationStart, error)
	BindLogin(ctx context.Context, id string, request client.BindLoginRequest) (client.BoundLogin, error)
	CompleteAuthorisation(ctx context.Context, id string, request client.CodeRequest) (client.Authorisation, error)
	GetAuthorisation(ctx context.Context, id string) (client.Authorisation, error)
	ListGames(ctx context.Context) (client.GameList, error)
	ListLogins(ctx context.Context, params client.ListLoginsParams) (client.LoginList, error)
}

var (
	_ logins = api.Producer{}
	_ logins = loginTables{}
)

// withLogins calls work with the calls of a producer, or with those on the tables.
func withLogins(a *settings.Source, cmd *cobra.Command, f *bindFlags, work func(context.Context, logins) error) error {
	usesTables, err := tablesConfigured(a, cmd)
	if err != nil {
		return err
	}
	if !usesTables {
		p, err := api.Reach(a, cmd, f.server)
		if err != nil {
			return err
		}
		return flagProblem(cmd, work(cmd.Context(), p))
	}
	return a.WithStore(cmd, "bind", func(ctx context.Context, s *store.Store, cfg settings.Config,
		logger *slog.Logger) error {
		if err := s.CheckSchema(ctx); err != nil {
			return err
		}
		tables := loginTables{login.Actions{Store: s, Clock: clock.System{}, Actor: operator()}}
		if f.redirectURI != "" {
			parts, closeParts, err := openParts(ctx, s, cfg, logger, f.code)
			if err != nil {
				return err
			}
			defer closeParts()
			tables.Flows = parts.Flows()
		}
		return flagProblem(cmd, work(ctx, tables))
	})
}

// loginTables are the calls on the tables.
type loginTables struct{ login.Actions }

// ListGames returns the games without their accounts.
func (t loginTables) ListGames(ctx context.Context) (all client.GameList, err error) {
	codes, err := t.Store.Games(ctx)
	for _, code := range codes {
		all.Games = append(all.Games, client.Game{Code: code})
	}
	return all, err
}

// openParts opens what authorises logins. With calls, the platforms can be called too.
func openParts(ctx context.Context, s *store.Store, cfg settings.Config, logger *slog.Logger, calls bool) (
	parts *engine.Engine, closeParts func(), err error,
) {
	box, err := secret.OpenBox(cfg.Secret, logger)
	if err != nil {
		return nil, nil, err
	}
	cache, err := redis.Open(cfg.Redis)
	if err != nil {
		return nil, nil, fmt.Errorf("set up Redis: %w", err)
	}
	stops := []func(){func() { _ = cache.Close() }}
	closeParts = func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}
	databaseTime := clock.NewDatabase(s.Data.Now, logger)
	parts = engine.New(engine.Deps{
		Store: s, Redis: cache, Keys: redis.NewKeys(cfg.Redis.KeyPrefix), Box: box,
		Planning: databaseTime, Waiting: databaseTime, Node: node(), Logger: logger, Registerer: telemetry.NewRegistry(),
	}, cfg.RateLimit, cfg.Media)
	started := []service.Service{service.Func{StartFunc: databaseTime.Start, StopFunc: databaseTime.Stop}}
	if calls {
		started = append(started, parts.Limits(), parts.Tokens())
	}
	for _, one := range started {
		if err := one.Start(ctx); err != nil {
			closeParts()
			return nil, nil, err
		}
		stops = append(stops, one.Stop)
	}
	return parts, closeParts, nil
}

// flagProblem returns the error of a request's field as that of its flag.
func flagProblem(cmd *cobra.Command, err error) error {
	problem, is := errors.AsType[*client.Problem](err)
	if !is || len(problem.Errors) == 0 {
		return api.WithRemedy(err)
	}
	wrong := problem.Errors[0]
	flag := strings.ReplaceAll(wrong.Field, "_", "-")
	if cmd.Flags().Lookup(flag) == nil {
		return api.WithRemedy(err)
	}
	return usage.Errorf("--%s: %s", flag, wrong.Detail)
}

func bindMedia(ctx context.Context, a *settings.Source, cmd *cobra.Command, l logins, media string,
	f *bindFlags) error {
	if err := f.checkGame(ctx, l); err != nil {
		return err
	}
	loginID := ""
	if f.redirectURI != "" {
		id, err := authorise(ctx, a, cmd, l, media, f)
		if err != nil || (!f.wait && !f.code) {
			return err
		}
		loginID = id
	}
	out := cmd.OutOrStdout()
	if len(f.accounts) == 0 {
		fmt.Fprintf(out, "\nAccounts that are not bound are not pulled. To bind them: "+
			"adsync bind %s --app-id %s --accounts all|ID,ID --game CODE --os OS\n", media, f.appID)
		return nil
	}
	id, err := pickLogin(ctx, l, media, f, loginID)
	if err != nil {
		return err
	}
	request := client.BindLoginRequest{Accounts: f.accounts, Game: f.game, GameName: f.gameName, OS: f.os, From: f.from}
	if slices.Equal(f.accounts, []string{"all"}) {
		request.Accounts, request.Scope = nil, "all"
	}
	bound, err := l.BindLogin(ctx, id, request)
	if err != nil {
		return err
	}
	return show.Bound(out, &bound, &request)
}

// checkGame checks the game before a person authorises a login. A new game needs a name: a misspelt code must not
// become a game.
func (f *bindFlags) checkGame(ctx context.Context, l logins) error {
	if f.game == "" || f.gameName != "" {
		return nil
	}
	games, err := l.ListGames(ctx)
	if err != nil {
		return err
	}
	codes := make([]string, len(games.Games))
	for i, game := range games.Games {
		codes[i] = game.Code
	}
	if slices.Contains(codes, f.game) {
		return nil
	}
	return usage.Errorf("there is no game %q: want one of %s, or a new one with its name: --game-name NAME", f.game,
		strings.Join(codes, ", "))
}

// authorise writes the app and begins an authorisation. With --wait or --code it waits for the login and returns its
// id.
func authorise(ctx context.Context, a *settings.Source, cmd *cobra.Command, l logins, media string, f *bindFlags) (
	loginID string, err error,
) {
	request := client.AuthorisationRequest{Media: media, AppID: f.appID, RedirectURI: f.redirectURI,
		AppSecret: settings.Variable(a.Environ, settings.AppSecretVariable)}
	begun, err := l.BeginAuthorisation(ctx, request)
	if problem, is := errors.AsType[*client.Problem](err); is && request.AppSecret == "" &&
		slices.ContainsFunc(problem.Errors, func(e client.FieldError) bool { return e.Field == "app_secret" }) {
		given, failed := prompt.Secret(ctx, cmd, "Secret of app "+f.appID)
		if failed != nil {
			return "", fmt.Errorf("the app's secret is needed, from %s or the terminal: %w", settings.AppSecretVariable, failed)
		}
		request.AppSecret = given.Reveal()
		begun, err = l.BeginAuthorisation(ctx, request)
	}
	if err != nil {
		return "", err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Have the person who holds the accounts open this address within %d minutes:\n\n%s\n\n",
		int(storesettings.OAuthStateLasts.Minutes()), begun.URL)
	switch {
	case f.code:
		fmt.Fprintf(out, "The browser ends at an address with %s=…\n", begun.CodeParameter)
		code, err := prompt.Secret(ctx, cmd, "The code in it")
		if err != nil {
			return "", err
		}
		if _, err := l.CompleteAuthorisation(ctx, begun.ID, client.CodeRequest{Code: code.Reveal()}); err != nil {
			return "", err
		}
	case f.wait:
		fmt.Fprintln(out, "Waiting for it …")
	default:
		fmt.Fprintf(out, "The browser then returns to %s, which stores the login and shows its accounts.\n", f.redirectURI)
		return "", nil
	}
	return awaitAuthorisation(ctx, out, l, begun.ID)
}

// awaitAuthorisation waits until a producer has handled the callback, or the callback can no longer come. A producer
// may be away meanwhile, for api.AwayMax.
func awaitAuthorisation(ctx context.Context, out io.Writer, l logins, id string) (loginID string, err error) {
	ticker := time.NewTicker(callbackPoll)
	defer ticker.Stop()
	for answered := clock.Mark(); ; {
		got, err := l.GetAuthorisation(ctx, id)
		_, away := errors.AsType[*client.AwayError](err)
		switch {
		case away && clock.Since(answered) < api.AwayMax:
		case err != nil:
			return "", err
		default:
			answered = clock.Mark()
		}
		switch got.State {
		case client.AuthorisationStateFailed:
			return "", fmt.Errorf("the authorisation failed: %s", got.Note)
		case client.AuthorisationStateExpired:
			return "", errors.New("nobody authorised it in time: run the command again")
		case client.AuthorisationStateLost:
			return "", errors.New("the callback came, but its process died before it exchanged the code, which is used up: " +
				"run the command again")
		case client.AuthorisationStateDone:
			if got.Login == nil {
				return "", errors.New("the login was authorised, and somebody has deleted it since: run the command again")
			}
			return got.Login.ID, errors.Join(show.Authorised(out, &got), noteError(got.Note))
		case client.AuthorisationStateWaiting, client.AuthorisationStateExchanging, client.AuthorisationStateStored:
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ticker.C:
		}
	}
}

// noteError returns an error with the note on what remains to be done for an authorised login, or nil without a note.
func noteError(note string) error {
	if note == "" {
		return nil
	}
	return fmt.Errorf("the login is authorised and stored, but: %s", note)
}

// pickLogin returns the id of the login whose accounts are bound: the one that was authorised, or that of --login.
func pickLogin(ctx context.Context, l logins, media string, f *bindFlags, authorised string) (string, error) {
	if authorised != "" {
		return authorised, nil
	}
	of, err := l.ListLogins(ctx, client.ListLoginsParams{Media: media, AppID: f.appID})
	if err != nil {
		return "", err
	}
	var names []string
	for _, one := range of.Logins {
		if one.Login == f.login || f.login == "" && len(of.Logins) == 1 {
			return one.ID, nil
		}
		names = append(names, one.Login)
	}
	if len(names) == 0 {
		return "", usage.Errorf("app %s of %s has no login yet: authorise one with --redirect-uri", f.appID, media)
	}
	return "", usage.Errorf("--login is %q: want one of %s", f.login, strings.Join(names, ", "))
}
