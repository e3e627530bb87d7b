package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/client"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/oauth"
	"adsync/media/wire"
)

const (
	appSecret  = "the-secret-of-the-app"
	goodCode   = "the-good-code"
	badCode    = "the-bad-code"
	newAccess  = "the-access-token"
	newRefresh = "the-refresh-token"
)

// askTulip asks for an authorisation of the app 17; %s is more of it.
const askTulip = `{"media": "tulip", "app_id": "17", "redirect_uri": "https://x.example/oauth/tulip/callback"%s}`

// agreeing is Tulip, which gives a login with two accounts for goodCode.
type agreeing struct{ invented.Platform }

func (agreeing) Exchange(_ context.Context, _ media.Transport, app media.App, code secret.Text, _ string) (
	media.Authorisation, error,
) {
	if code.Reveal() != goodCode {
		return media.Authorisation{}, &media.Error{Class: media.Invalid, Code: "7",
			Message: "no code " + code.Reveal() + " of " + app.Secret.Reveal()}
	}
	return media.Authorisation{Login: "20009001", Name: "agency", Tokens: media.Tokens{
		Access: secret.NewText(newAccess), Refresh: secret.NewText(newRefresh)}}, nil
}

func (agreeing) Accounts(_ context.Context, _ media.API, _ string, yield func([]media.FoundAccount) error) error {
	var found []media.FoundAccount
	for _, id := range []string{"9001", "9002"} {
		found = append(found, media.FoundAccount{ExternalID: id, Name: "account " + id, Timezone: "Asia/Shanghai",
			Currency: "CNY", Raw: []any{wire.Text("")}, JSON: []byte(`{}`)})
	}
	return yield(found)
}

// noCalls stands for the parts that agreeing does not need.
type noCalls struct{}

func (noCalls) ForLogin(int64) media.CountingAPI    { return nil }
func (noCalls) Reload(context.Context, int64) error { return nil }

// authorising is a bench that authorises logins of Tulip. log has what it logs.
func authorising(t *testing.T) (b *bench, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	b = &bench{t: t, store: storetest.New(t), producer: &fakeProducer{}, logger: slog.New(slog.NewTextHandler(log, nil))}
	require.NoError(t, b.store.EnsureRawTables(t.Context(), []rawtable.Table{agreeing{}.AccountTable()}))
	box, err := secret.NewBox(secret.NewKey("k1"))
	require.NoError(t, err)
	b.flows = map[string]*oauth.Flow{"tulip": oauth.New(oauth.Options{
		Platform: agreeing{}, Caller: noCalls{}, Keeper: noCalls{}, Store: b.store, Box: box, Clock: fixedClock{},
		Logger: b.logger,
	})}
	b.serve(b.producer, registry(b.store), fixedClock{})
	return b, log
}

// admin calls a route as an admin. The answer must have the status.
func admin[A any](b *bench, status int, method, path, body string) (answer A) {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, status, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &answer)
	return answer
}

func begin(b *bench, more string) client.AuthorisationStart {
	b.t.Helper()
	return admin[client.AuthorisationStart](b, http.StatusCreated, http.MethodPost, "/api/v1/authorisations",
		fmt.Sprintf(askTulip, more))
}

// authorised is a bench with the login 20009001 of the app 17, and what its authorisation answered.
func authorised(t *testing.T) (*bench, client.Authorisation) {
	t.Helper()
	b, _ := authorising(t)
	asked := begin(b, `, "app_secret": "`+appSecret+`"`)
	return b, admin[client.Authorisation](b, http.StatusOK, http.MethodPost,
		"/api/v1/authorisations/"+asked.ID+"/complete", `{"code": "`+goodCode+`"}`)
}

func TestAuthorisation_FromTheRequestToTheLogin(t *testing.T) {
	t.Parallel()
	b, log := authorising(t)
	require.Equal(t,
		[]fieldError{{Field: "app_secret", Detail: "is missing: want the secret of app 17, which is not known here"}},
		b.refused(http.MethodPost, "/api/v1/authorisations", fmt.Sprintf(askTulip, "")))
	w := b.call(http.MethodPost, "/api/v1/authorisations", fmt.Sprintf(askTulip, `, "app_secret": "`+appSecret+`"`),
		adminToken)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	var asked client.AuthorisationStart
	decode(t, w.Body.String(), &asked)
	require.Equal(t, "/api/v1/authorisations/"+asked.ID, w.Header().Get("Location"))
	address, err := url.Parse(asked.URL)
	require.NoError(t, err)
	state := address.Query().Get("state")
	require.Equal(t, settings.OAuthID(secret.NewText(state)), asked.ID)
	require.Equal(t, []any{"code", now.Add(settings.OAuthStateLasts)}, []any{asked.CodeParameter, asked.ExpiresAt})

	place := "/api/v1/authorisations/" + asked.ID
	waiting := client.Authorisation{ID: asked.ID, Media: "tulip", AppID: "17", AskedBy: "ada",
		RedirectURI: "https://x.example/oauth/tulip/callback", State: client.AuthorisationStateWaiting}
	var seen client.Authorisation
	text := b.get(place)
	decode(t, text, &seen)
	require.Equal(t, waiting, seen)

	// A code that the platform refuses, in words that have the code and the secret.
	w = b.call(http.MethodPost, place+"/complete", `{"code": "`+badCode+`"}`, adminToken)
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.Contains(t, b.problem(w).Detail, "The platform returned 7: no code <secret> of <secret>")
	text += w.Body.String() + b.get(place)
	require.Contains(t, text, `"state":"failed"`)

	// The app is known: it needs no secret. The sender of the code is the actor.
	asked = begin(b, "")
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE oauth_state SET asked_by = 'otto'").Error)
	place = "/api/v1/authorisations/" + asked.ID
	w = b.call(http.MethodPost, place+"/complete", `{"code": "`+goodCode+`"}`, adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	text += w.Body.String() + b.get(place)
	decode(t, w.Body.String(), &seen)
	done := waiting
	done.ID, done.AskedBy, done.State = asked.ID, "otto", client.AuthorisationStateDone
	done.Login = &client.Login{ID: seen.Login.ID, Media: "tulip", AppID: "17", Login: "20009001", Name: "agency",
		State: "ok"}
	done.AccountCount, done.Accounts = 2, []client.LoginAccount{{ExternalID: "9001", Name: "account 9001"},
		{ExternalID: "9002", Name: "account 9002"}}
	require.Equal(t, done, seen)
	w = b.call(http.MethodPost, place+"/complete", `{"code": "`+goodCode+`"}`, adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	text += w.Body.String() + b.get("/api/v1/logins?media=tulip&app_id=17")
	require.Equal(t, []string{
		"ada app.put app/tulip/17  >",
		`ada login.authorise login/` + seen.Login.ID + `  > {"app_id":"17","login":"20009001","media":"tulip"}`,
	}, b.auditText())

	// No answer but the first has a secret; nor has the log, or a table.
	for _, table := range []string{"oauth_state", "media_token", "media_app", "media_login", "audit_log"} {
		var rows []map[string]any
		require.NoError(t, b.store.Config.Writer(t.Context()).Raw("SELECT * FROM "+table).Scan(&rows).Error)
		require.NotEmpty(t, rows, table)
		text += fmt.Sprintf("%s", rows)
	}
	text += log.String() + b.get("/api/v1/audit")
	require.Contains(t, text, "authorisation failed")
	for _, hidden := range []string{state, appSecret, goodCode, badCode, newAccess, newRefresh} {
		require.NotContains(t, text, hidden)
	}
}

func TestAuthorisation_RefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	b, seen := authorised(t)
	entries := b.auditText()
	for body, want := range map[string]fieldError{
		`{"media": "rose", "app_id": "17", "redirect_uri": "https://x.example/cb"}`: {Field: "media",
			Detail: `"rose" is refused: want one of tulip`},
		`{"media": "tulip", "app_id": "1 7", "redirect_uri": "https://x.example/cb"}`: {Field: "app_id",
			Detail: `"1 7" is refused: want the app's id on the platform`},
		`{"media": "tulip", "app_id": "17", "redirect_uri": "http://x.example/cb"}`: {Field: "redirect_uri",
			Detail: `redirect URI "http://x.example/cb": want https, since the code that comes with it is a secret`},
		fmt.Sprintf(askTulip, `, "app_secret": "`+appSecret+`\u0007"`): {Field: "app_secret",
			Detail: "cannot be kept: the secret holds control characters or is no UTF-8, so no call can carry it"},
		fmt.Sprintf(askTulip, `, "app_secret": ["`+appSecret+`"]`): {Field: "app_secret",
			Detail: "want a string, got array"},
	} {
		got := b.refused(http.MethodPost, "/api/v1/authorisations", body)
		require.Equal(t, []fieldError{want}, got, body)
	}
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE media_app SET enabled = 0").Error)
	require.Equal(t, []fieldError{{Field: "app_id",
		Detail: "app 17 of tulip is disabled: want an app that is enabled, or its secret, which enables it"}},
		b.refused(http.MethodPost, "/api/v1/authorisations", fmt.Sprintf(askTulip, "")))
	begin(b, `, "app_secret": "`+appSecret+`"`)
	require.Equal(t, append(entries, "ada app.put app/tulip/17  >",
		"ada app.put app/tulip/17  >"), b.auditText(), "one of them for the secret that could not be kept")

	for _, id := range []string{"ab", "7", seen.ID[1:] + "0", "%E6%BC%A2"} {
		path := "/api/v1/authorisations/" + id
		require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, path, "", viewerToken).Code)
		w := b.call(http.MethodPost, path+"/complete", `{"code": "`+goodCode+`"}`, adminToken)
		require.Equal(t, http.StatusNotFound, w.Code)
		require.Contains(t, b.problem(w).Detail, "want an id that a request for one returned within the last week")
	}
	require.Equal(t, []fieldError{{Field: "code", Detail: "is missing: want the code in the address of the callback"}},
		b.refused(http.MethodPost, "/api/v1/authorisations/"+seen.ID+"/complete", `{}`))
}

func TestLogins_BindTheirAccounts(t *testing.T) {
	t.Parallel()
	b, seen := authorised(t)
	var list client.LoginList
	decode(t, b.get("/api/v1/logins?media=tulip&app_id=17"), &list)
	require.Equal(t, client.LoginList{Logins: []client.Login{*seen.Login}}, list)
	for _, query := range []string{"media=orchid", "app_id=18"} {
		require.JSONEq(t, `{"logins": []}`, b.get("/api/v1/logins?"+query))
	}
	place := "/api/v1/logins/" + seen.Login.ID + "/accounts"
	entries := b.auditText()
	for body, want := range map[string]fieldError{
		`{}`: {Field: "scope",
			Detail: `is missing: want accounts, or "scope": "all" for the accounts without a game`},
		`{"accounts": []}`: {Field: "accounts", Detail: "is empty: want a value, or leave it out"},
		`{"accounts": ["9001"], "scope": "all"}`: {Field: "scope",
			Detail: "does not go with accounts: leave one of the two out"},
		`{"accounts": ["9003"]}`: {Field: "accounts", Detail: `the login does not reach "9003"`},
		`{"accounts": ["orchid/9001"]}`: {Field: "accounts",
			Detail: `"orchid/9001" is not an account of tulip: want the platform's id, or tulip/ID`},
		`{"scope": "all", "game": "chess"}`: {Field: "os", Detail: "want ios, android or pc: game and os go together"},
		`{"scope": "all", "os": "ios"}`: {Field: "game",
			Detail: "want the code of a game: an os, a name and days need one"},
		`{"scope": "all", "game": "chess", "os": "ios"}`: {Field: "game",
			Detail: `"chess" is refused: want one of unassigned, or a new one with its name in game_name`},
		`{"scope": "all", "game": "unassigned", "os": "ios", "from": "1970-01-01"}`: {Field: "from",
			Detail: `"1970-01-01" is refused: want a day from 2010-01-01 to`},
	} {
		got := b.refused(http.MethodPost, place, body)
		require.Len(t, got, 1, body)
		require.Equal(t, want.Field, got[0].Field, body)
		require.Contains(t, got[0].Detail, want.Detail, body)
	}
	for _, id := range []string{"77", "x"} {
		w := b.call(http.MethodPost, "/api/v1/logins/"+id+"/accounts", `{"scope": "all"}`, adminToken)
		require.Equal(t, http.StatusNotFound, w.Code)
	}
	require.Equal(t, entries, b.auditText())
	require.Equal(t, 1, b.count(b.store.Config, "media_login WHERE choose = 1"), "nothing was changed")

	bind := func(body string) (bound, given int64, pullsNew bool) {
		answer := admin[client.BoundLogin](b, http.StatusOK, http.MethodPost, place, body)
		return answer.Bound, answer.GivenGame, answer.Login.PullsNewAccounts
	}
	bound, given, pullsNew := bind(
		`{"accounts": ["9001", "tulip/9001"], "game": "chess", "game_name": "Chess", "os": "ios", "from": "2026-11-01"}`)
	require.Equal(t, []any{int64(1), int64(1), false}, []any{bound, given, pullsNew})
	require.Equal(t, []string{
		"ada game.put game/chess  > {\"name\":\"Chess\"}",
		"ada login.bind login/" + seen.Login.ID + `  > {"accounts":1,"all":false,"game":"chess","os":"ios"}`,
		`ada account.rebind account_binding/tulip/9001/2026-11-01  > {"media":"tulip","external_id":"9001",` +
			`"from_day":"2026-11-01","to_day":"9999-12-31","game":"chess","os":"ios"}`,
		`ada account.bind media_account/tulip/9001 {"bound":0} > {"bound":1}`,
	}, b.auditText()[len(entries):])
	require.Equal(t, []fieldError{{Field: "accounts",
		Detail: "9001 has a game: adsync bind account tulip/9001 --game chess --os pc moves it"}},
		b.refused(http.MethodPost, place, `{"accounts": ["9001"], "game": "chess", "os": "pc"}`))
	bound, given, pullsNew = bind(`{"scope": "all"}`)
	require.Equal(t, []any{int64(1), int64(0), true}, []any{bound, given, pullsNew}, "the other one")
	entries = b.auditText()
	bind(`{"scope": "all"}`)
	require.Equal(t, entries, b.auditText(), "it is so already")
}
