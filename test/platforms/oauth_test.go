package platforms_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/media/oauth"
	"adsync/media/token"
	"adsync/test/platforms/simclient"
)

const callback = "http://127.0.0.1:1/oauth/x/callback"

// authoriser is a flow against a simulated platform, with its log.
type authoriser struct {
	simclient.Process
	*oauth.Flow
	t       *testing.T
	secrets []string // texts that must not appear anywhere
	log     *bytes.Buffer
}

func newAuthoriser(t *testing.T, platform media.Platform, server *mediatest.Server) *authoriser {
	t.Helper()
	p := simclient.Start(t, platform, server)
	require.NoError(t, p.AnyCall(t, platform)) // The clock learns the platform's time.
	return authoriserOf(t, platform, p)
}

// authoriserOf returns a flow of a process that knows the platform's time.
func authoriserOf(t *testing.T, platform media.Platform, p simclient.Process) *authoriser {
	t.Helper()
	a := &authoriser{Process: p, t: t, log: &bytes.Buffer{}, secrets: []string{p.Server.App.Secret.Reveal()}}
	var credentials map[string]struct {
		AuthorisePath string `json:"authorise_url_path"`
	}
	w := simclient.Of(t, platform.Name(), p.Server)
	require.NoError(t, json.Unmarshal(w.Get(t, "credentials", nil), &credentials))
	a.Flow = oauth.New(oauth.Options{
		Platform: platform.(media.Authoriser), Page: w.Address + credentials[platform.Name()].AuthorisePath,
		Transport: p.Keeper.Transport,
		Caller:    p.Client, Keeper: p.Keeper, Store: p.Store, Box: p.Keeper.Box, Clock: p.Keeper.Clock,
		Logger: slog.New(slog.NewJSONHandler(a.log, nil)),
	})
	return a
}

// agree begins an authorisation, and the platform's page agrees.
func (a *authoriser) agree() (state, code secret.Text) {
	a.t.Helper()
	request, err := a.Begin(a.t.Context(), a.Server.App.ID, callback, "otto")
	require.NoError(a.t, err)
	code = a.open(request.URL, request.State)
	return request.State, code
}

// open calls the address like a browser, up to the callback.
func (a *authoriser) open(address string, state secret.Text) secret.Text {
	a.t.Helper()
	answer := simclient.Authorise(a.t, address)
	require.Equal(a.t, state.Reveal(), answer.Get("state"))
	code := a.Code(answer)
	require.False(a.t, code.IsZero())
	a.secrets = append(a.secrets, code.Reveal(), answer.Get(a.CodeParameter()), state.Reveal())
	return code
}

// first returns the first account with a login.
func (a *authoriser) first(login int64) media.Account {
	external := a.Server.Accounts[0]
	return media.Account{ID: 1, Media: a.Platform.Name(), ExternalID: external, Name: a.Server.Names[external],
		TokenID: login, Zone: simclient.Zone, Currency: "CNY"}
}

func (a *authoriser) refused(kind oauth.Kind, text string, state, code secret.Text) {
	a.t.Helper()
	_, err := a.Complete(a.t.Context(), state, code)
	refusal, ok := errors.AsType[*oauth.Refusal](err)
	require.True(a.t, ok, "%v", err)
	require.Equal(a.t, kind, refusal.Kind, refusal.Text)
	require.Contains(a.t, refusal.Text, text)
	for _, s := range a.secrets {
		require.NotContains(a.t, refusal.Text, s)
	}
}

// tables returns all rows of the config database about authorisations, as text.
func (a *authoriser) tables() string {
	a.t.Helper()
	var all strings.Builder
	for _, table := range []string{"oauth_state", "media_token", "media_app", "media_login", "account_login",
		"media_account", "audit_log"} {
		rows, err := a.Store.Config.Writer(a.t.Context()).Raw("SELECT * FROM " + table).Rows()
		require.NoError(a.t, err)
		columns, err := rows.Columns()
		require.NoError(a.t, err)
		for rows.Next() {
			values := make([]any, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(a.t, rows.Scan(into...))
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				fmt.Fprint(&all, v, " ")
			}
		}
		require.NoError(a.t, rows.Err())
		rows.Close()
	}
	return all.String()
}

func TestOAuth_ACodeBecomesALoginWithItsAccounts(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		a := newAuthoriser(t, platform, server)
		state, code := a.agree()
		found, err := a.Complete(t.Context(), state, code)
		require.NoError(t, err)
		require.Empty(t, found.Note)
		require.NotEmpty(t, found.Login)
		require.Equal(t, server.Login.Name == "", found.Name == "", "the platform may name no person")
		require.Len(t, found.Accounts, len(server.Accounts))
		for _, account := range found.Accounts {
			require.False(t, account.Bound, "it was not chosen")
			require.Equal(t, found.LoginID, account.TokenID)
		}
		require.NotEqual(t, a.Login, found.LoginID)
		row, err := a.Store.Token(t.Context(), found.LoginID)
		require.NoError(t, err)
		require.Equal(t, settings.TokenOK, row.State)
		end := a.Keeper.Clock.Now().Add(24 * time.Hour)
		if server.Refresh.IsZero() {
			end = token.EndUnknown
		}
		require.WithinDuration(t, end, row.AccessExpires, time.Minute)

		log, err := a.Store.ListAudit(t.Context(), settings.AuditFilter{Object: "login", Limit: 10})
		require.NoError(t, err)
		require.Len(t, log, 1)
		require.Equal(t, "login.authorise", log[0].Action)
		require.Contains(t, log[0].After, `"login":"`+found.Login+`"`)

		// A pull works with it.
		api := a.Client.For(a.first(found.LoginID))
		_, err = platform.Reports()[0].Page(t.Context(), api, media.ReportQuery{From: server.Today, To: server.Today}, "")
		require.NoError(t, err)

		a.refused(oauth.Used, "This address has been used: it works once. The login is authorised", state, code)
		other, err := a.Begin(t.Context(), server.App.ID, callback, "otto")
		require.NoError(t, err)
		a.secrets = append(a.secrets, other.State.Reveal())
		a.refused(oauth.Used, "This code was used before, with another request", other.State, code)

		login, err := a.Keeper.Login(t.Context(), found.LoginID)
		require.NoError(t, err)
		a.secrets = append(a.secrets, login.Access.Reveal())
		// No table and no log line has any of the secrets.
		tables := a.tables()
		require.Contains(t, tables, found.Login)
		for _, s := range a.secrets {
			require.NotContains(t, tables, s)
			require.NotContains(t, a.log.String(), s)
		}
		require.Contains(t, a.log.String(), "login authorised")
	})
}

func TestOAuth_AuthorisingAgainRenewsAParkedLogin(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		a := newAuthoriser(t, platform, server)
		state, code := a.agree()
		first, err := a.Complete(t.Context(), state, code)
		require.NoError(t, err)
		require.NoError(t, a.Store.SetChoose(t.Context(), first.LoginID, false))
		w := simclient.Of(t, platform.Name(), server)
		w.Order(t, "faults", map[string]any{"kind": "token_death", "media": platform.Name(), "token": "pair"})
		_, err = platform.Reports()[0].Page(t.Context(),
			a.Client.For(a.first(first.LoginID)), media.ReportQuery{From: server.Today, To: server.Today}, "")
		require.ErrorContains(t, err, "must be authorised again")

		state, code = a.agree()
		again, err := a.Complete(t.Context(), state, code)
		require.NoError(t, err)
		require.Equal(t, first.LoginID, again.LoginID, "the same login")
		require.Empty(t, again.Note)
		row, err := a.Store.Token(t.Context(), first.LoginID)
		require.NoError(t, err)
		require.Equal(t, settings.TokenOK, row.State)
		logins, err := a.Store.Logins(t.Context(), platform.Name(), server.App.ID)
		require.NoError(t, err)
		for _, l := range logins {
			if l.ID == first.LoginID {
				require.False(t, l.Choose, "the choice stays")
			}
		}
		_, err = platform.Reports()[0].Page(t.Context(),
			a.Client.For(a.first(first.LoginID)), media.ReportQuery{From: server.Today, To: server.Today}, "")
		require.NoError(t, err)
	})
}

// unusable is a platform whose exchange returns an unusable authorisation.
type unusable struct {
	media.Authoriser

	change func(a *media.Authorisation)
}

// Callback implements media.CallbackReader, for all platforms.
func (u unusable) Callback(query url.Values) string {
	if reader, ok := u.Authoriser.(media.CallbackReader); ok {
		return reader.Callback(query)
	}
	return query.Get(u.CodeParameter())
}

func (u unusable) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	redirectURI string) (media.Authorisation, error) {
	a, err := u.Authoriser.Exchange(ctx, transport, app, code, redirectURI)
	u.change(&a)
	return a, err
}

func TestOAuth_RefusesAtOnceWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	long := secret.NewText(strings.Repeat("long", 10_000))
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		a := newAuthoriser(t, platform, server)
		a.secrets = append(a.secrets, long.Reveal())
		for want, change := range map[string]func(a *media.Authorisation){
			"the access token has 40000 bytes: want at most 32768":  func(a *media.Authorisation) { a.Access = long },
			"the refresh token has 40000 bytes: want at most 32768": func(a *media.Authorisation) { a.Refresh = long },
			"the id of the login has 129 characters: want at most 128": func(a *media.Authorisation) {
				a.Login = strings.Repeat("1", 129)
			},
		} {
			options := a.Options
			options.Platform = unusable{platform.(media.Authoriser), change}
			a.Flow = oauth.New(options)
			state, code := a.agree()
			began := time.Now()
			a.refused(oauth.Refused, want, state, code)
			require.Less(t, time.Since(began), 30*time.Second, "it does not wait for a database")
			a.refused(oauth.Used, want, state, code)
		}
		for _, s := range a.secrets {
			require.NotContains(t, a.log.String(), s)
		}
	})
}

func TestOAuth_RefusalsNameTheFix(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		a := newAuthoriser(t, platform, server)
		begin := func() secret.Text {
			request, err := a.Begin(t.Context(), server.App.ID, callback, "otto")
			require.NoError(t, err)
			return request.State
		}
		a.refused(oauth.Unknown, "This authorisation was not requested here", secret.NewText("x"), secret.NewText("c"))
		require.NoError(t, a.Store.PutOAuthState(t.Context(), settings.OAuthState{
			ID: settings.OAuthID(secret.NewText("y")), Media: "another", AppID: server.App.ID, AskedBy: "otto"}))
		a.refused(oauth.Unknown, "This authorisation was not requested here", secret.NewText("y"), secret.NewText("c"))

		state := begin()
		a.refused(oauth.Refused, "authorise again, ", state, secret.NewText("nonsense"))
		a.refused(oauth.Used, "It failed: ", state, secret.NewText("nonsense"))

		// A code that is too old for the platform.
		state, code := a.agree()
		w := simclient.Of(t, platform.Name(), server)
		w.Order(t, "clock",
			map[string]any{"now": server.Today.Start(simclient.Zone).Add(23 * time.Hour).Format(time.RFC3339)})
		a.refused(oauth.Refused, "authorise again, a code", state, code)

		// A request that is too old for us.
		state, code = a.agree()
		require.NoError(t, a.Store.Config.Writer(t.Context()).Exec(
			"UPDATE oauth_state SET expires_at = asked_at WHERE step = 'waiting'").Error)
		a.refused(oauth.Old, "more than 10 minutes old", state, code)

		// A process that died between the platform's answer and the table.
		state, code = a.agree()
		mine, err := a.Store.ClaimOAuthState(t.Context(), settings.OAuthID(state), code)
		require.NoError(t, err)
		require.True(t, mine)
		a.refused(oauth.Used, "being exchanged at this moment", state, code)
		require.NoError(t, a.Store.Config.Writer(t.Context()).Exec(
			"UPDATE oauth_state SET used_at = ? WHERE step = 'exchanging'", sqldb.At(time.Now().Add(-time.Hour))).Error)
		a.refused(oauth.Used, "the code is spent: authorise again", state, code)

		// The app's secret is wrong.
		state, code = a.agree()
		require.NoError(t, token.PutApp(t.Context(), a.Store, a.Keeper.Box, platform.Name(), server.App.ID,
			secret.NewText("wrong-secret")))
		a.secrets = append(a.secrets, "wrong-secret")
		a.refused(oauth.Refused, "write the app again", state, code)

		_, err = a.Begin(t.Context(), "77", callback, "otto")
		require.ErrorContains(t, err, "has no app 77 here")
		for _, address := range []string{"", "/cb", "http://adsync.example.com/cb", "https://x.example/cb#f",
			"ftp://x.example/cb"} {
			_, err := a.Begin(t.Context(), server.App.ID, address, "otto")
			require.ErrorContains(t, err, "redirect URI")
		}
		require.Zero(t, a.countLogins(t), "no login was added")
		for _, s := range a.secrets {
			require.NotContains(t, a.tables(), s)
			require.NotContains(t, a.log.String(), s)
		}
	})
}

// countLogins counts logins next to the one that every process here begins with.
func (a *authoriser) countLogins(t *testing.T) int {
	t.Helper()
	logins, err := a.Store.Logins(t.Context(), a.Platform.Name(), "")
	require.NoError(t, err)
	return len(logins) - 1
}

func TestOAuth_OneOfManyCallbacksAtOnceSucceeds(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		a := newAuthoriser(t, platform, server)
		state, code := a.agree()
		errs := make([]error, 6)
		var all sync.WaitGroup
		for i := range errs {
			// The browser hangs up: the exchange continues.
			ctx, leave := context.WithCancel(t.Context())
			leave()
			all.Go(func() { _, errs[i] = a.Complete(ctx, state, code) })
		}
		all.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
				continue
			}
			refusal, ok := errors.AsType[*oauth.Refusal](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, oauth.Used, refusal.Kind)
		}
		require.Equal(t, 1, done)
		require.Equal(t, 1, a.countLogins(t))
		a.Close()
		a.refused(oauth.Stopping, "This process is stopping", state, code)
	})
}
