package bilibili_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/bilibili"
	"adsync/simulator/limit"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

const form = "application/x-www-form-urlencoded"

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(pairs ...string) *httptest.ResponseRecorder {
	app := s.Credentials()
	q := simtest.Query(append([]string{"client_id", app.AppID, "client_secret", app.Secret}, pairs...)...)
	return s.send(http.MethodPost, "", "oauth2/token", form, q.Encode())
}

func (s *sim) refresh(token string) *httptest.ResponseRecorder {
	return s.oauth("grant_type", "refresh_token", "refresh_token", token)
}

func (s *sim) exchange(code string) *httptest.ResponseRecorder {
	return s.oauth("grant_type", "authorization_code", "code", code, "redirect_uri", "https://app.example/cb")
}

// use returns the code of a call with a token; 0 for a success.
func (s *sim) use(token string) int { return code(s.t, s.get(token, "oauth2/user", nil)) }

// code returns the code of an answer; 0 if it has a status of success.
func code(t testing.TB, w *httptest.ResponseRecorder) int {
	t.Helper()
	if simtest.Decoded(t, w)["status"] == "success" {
		return 0
	}
	return simtest.Code(t, w)
}

func TestLogins_ARefreshKillsThePairAtOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	old := s.Credentials().Logins[0]
	d := data(t, s.refresh(old.RefreshToken)).(fields)
	require.Equal(t, json.Number("86400"), d["expires_in"])
	require.Equal(t, "Bearer", d["token_type"])
	require.Len(t, d, 4, "the life of the refresh token is not told")
	require.Equal(t, 40001, s.use(old.AccessToken))
	require.Equal(t, 40005, code(t, s.refresh(old.RefreshToken)), "a replaced token has its own code")
	require.Equal(t, 40004, code(t, s.refresh("none")))
	require.Equal(t, 0, s.use(d["access_token"].(string)), "a refused refresh changes nothing")
	next := data(t, s.refresh(d["refresh_token"].(string))).(fields)
	require.Equal(t, 0, s.use(next["access_token"].(string)))
	require.Equal(t, 40005, code(t, s.refresh(old.RefreshToken)))

	s.Order("limits", fields{"old_access_survives": fields{"bilibili": true}})
	last := data(t, s.refresh(next["refresh_token"].(string))).(fields)
	require.Equal(t, 0, s.use(next["access_token"].(string)), "the switch keeps the older access token valid")
	require.Equal(t, 0, s.use(last["access_token"].(string)))
}

func TestLogins_ALostAnswerLosesThePair(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	old := s.Credentials().Logins[0]
	s.Order("faults", fields{"kind": "half_body", "media": "bilibili", "endpoint": "oauth2/token", "count": 1})
	require.False(t, json.Valid(s.refresh(old.RefreshToken).Body.Bytes()))
	require.Equal(t, 40001, s.use(old.AccessToken))
	require.Equal(t, 40005, code(t, s.refresh(old.RefreshToken)))
	issued := s.Order("codes", fields{"media": "bilibili", "login": old.Login}).(fields)["code"].(string)
	require.Equal(t, 0, s.use(data(t, s.exchange(issued)).(fields)["access_token"].(string)))
}

// TestNight_ThePairIsDeadBeforeItsAnswer holds the answer of a refresh back, as an event of the night does.
func TestNight_ThePairIsDeadBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	old := s.Credentials().Logins[0]
	for _, e := range bilibili.New().Night().Events {
		if e.Order == nil {
			continue
		}
		order := with(e.Order, fields{"media": "bilibili"})
		if order["kind"] == "latency" {
			order["ms"], order["count"] = 3_600_000, 1
		}
		s.Order("faults", order)
	}
	answer := make(chan *httptest.ResponseRecorder)
	go func() { answer <- s.refresh(old.RefreshToken) }()
	require.Eventually(t, func() bool { return s.use(old.AccessToken) != 0 }, time.Minute, time.Millisecond)
	for range 3 {
		require.Equal(t, 40001, s.use(old.AccessToken), "all that hold the pair are refused")
	}
	require.Equal(t, 40005, code(t, s.refresh(old.RefreshToken)), "another refresh is a second use of the token")
	require.Equal(t, http.StatusOK, s.Do(httptest.NewRequest(http.MethodDelete, "/_sim/faults", nil)).Code)
	d := data(t, <-answer).(fields)
	require.Equal(t, s.Credentials().Logins[0].AccessToken, d["access_token"])
	require.Equal(t, 0, s.use(d["access_token"].(string)))
}

func TestLogins_TokensEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	login := s.Credentials().Logins[0]
	require.Equal(t, 40001, s.use(""))
	require.Equal(t, 40001, s.use(strings.Repeat("0", 32)))
	require.Equal(t, http.StatusOK, s.get("", "oauth2/user", nil).Code)
	s.Assume("http_status_token", 401)
	require.Equal(t, http.StatusUnauthorized, s.get("", "oauth2/user", nil).Code)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(24*time.Hour)))
	require.Equal(t, 40001, s.use(login.AccessToken))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(20*24*time.Hour)))
	require.Equal(t, 40004, code(t, s.refresh(login.RefreshToken)))
	s.Assume("code_token", -101)
	require.Equal(t, -101, s.use(login.AccessToken))
}

func TestLogins_ACodeIsExchangedOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	q := simtest.Query("client_id", s.Credentials().AppID, "redirect_uri", "https://app.example/cb", "state", "x")
	consent := func() string {
		r := httptest.NewRequest(http.MethodGet, "/bilibili/developer/developer-authorization?"+q.Encode(), nil)
		back, err := url.Parse(s.Do(r).Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "x", back.Query().Get("state"))
		return back.Query().Get("code")
	}
	issued := consent()
	require.NotEmpty(t, data(t, s.exchange(issued)).(fields)["refresh_token"])
	require.Equal(t, 40003, code(t, s.exchange(issued)), "it was used")
	require.Equal(t, 40003, code(t, s.exchange("")))
	require.Equal(t, 40003, code(t, s.oauth("grant_type", "authorization_code", "code", consent(), "redirect_uri",
		"https://other.example/cb")))
	late := consent()
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(10*time.Minute)))
	require.Equal(t, 40003, code(t, s.exchange(late)), "it lives ten minutes")
}

func TestLogins_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	refresh := s.Credentials().Logins[0].RefreshToken
	for _, name := range []string{"client_id", "client_secret"} {
		require.Equal(t, 40002, code(t, s.oauth(name, "1", "grant_type", "refresh_token", "refresh_token", refresh)), name)
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"no app":          s.oauth("client_id", "", "grant_type", "refresh_token", "refresh_token", refresh),
		"no secret":       s.oauth("client_secret", "", "grant_type", "refresh_token", "refresh_token", refresh),
		"no grant_type":   s.oauth("refresh_token", refresh),
		"another grant":   s.oauth("grant_type", "password", "refresh_token", refresh),
		"no redirect_uri": s.oauth("grant_type", "authorization_code", "code", "x"),
		"a JSON body": s.send(http.MethodPost, "", "oauth2/token", "application/json", simtest.JSON(fields{
			"client_id": s.Credentials().AppID, "client_secret": s.Credentials().Secret, "grant_type": "refresh_token",
			"refresh_token": refresh})),
	} {
		require.Equal(t, 40000, code(t, w), name)
		require.Contains(t, simtest.Decoded(t, w), "message", name)
	}
	require.Equal(t, 0, s.use(s.Credentials().Logins[0].AccessToken), "no refusal has touched the pair")
}

// accounts returns the accounts of a login by its subjects.
func (s *sim) accounts(token string) (rows []fields) {
	for _, subject := range data(s.t, s.get(token, "oauth2/subjects", nil)).([]any) {
		id := subject.(fields)["subject_id"].(json.Number).String()
		require.NotEmpty(s.t, subject.(fields)["subject_name"])
		rows = append(rows, pages(s.t, 30, func(page int) *httptest.ResponseRecorder {
			return s.get(token, "oauth2/accounts", simtest.Query("subject_id", id, "page", simtest.Text(int64(page)),
				"page_size", "30"))
		})...)
	}
	return rows
}

func TestLogins_SubjectsLeadToTheAccounts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 140)
	for _, login := range s.Credentials().Logins {
		require.Equal(t, login.AccountIDs, simtest.Texts(s.accounts(login.AccessToken), "account_id"))
	}
	logins := s.Credentials().Logins
	require.Len(t, data(t, s.get(logins[0].AccessToken, "oauth2/subjects", nil)), 3)
	d := data(t, s.get(logins[1].AccessToken, "oauth2/user", nil)).(fields)
	require.Equal(t, json.Number(logins[1].UserID), d["user_id"])

	first := logins[0].AccountIDs[0]
	s.Order("accounts", fields{"media": "bilibili", "account": first, "state": "revoked"})
	require.Equal(t, logins[0].AccountIDs[1:], simtest.Texts(s.accounts(logins[0].AccessToken), "account_id"))

	s.Assume("overlap", 5)
	require.Equal(t, append(logins[0].AccountIDs[1:], logins[1].AccountIDs[:5]...),
		simtest.Texts(s.accounts(logins[0].AccessToken), "account_id"))
	require.Equal(t, logins[1].AccountIDs, simtest.Texts(s.accounts(logins[1].AccessToken), "account_id"))
	require.Equal(t, 0, code(t, s.get(logins[0].AccessToken, "cpc/v3/account/get",
		simtest.Query("account_id", logins[1].AccountIDs[4]))))

	for name, q := range map[string]url.Values{
		"no subject": nil, "a subject of text": simtest.Query("subject_id", "x"),
		"page 0":        simtest.Query("subject_id", "9000001", "page", "0"),
		"101 of a page": simtest.Query("subject_id", "9000001", "page_size", "101"),
	} {
		require.Equal(t, 40000, code(t, s.get(logins[0].AccessToken, "oauth2/accounts", q)), name)
	}
	unknown := simtest.Query("subject_id", "9000009")
	require.Equal(t, 40301, code(t, s.get(logins[0].AccessToken, "oauth2/accounts", unknown)))
}

func TestBilibili_ChecksTheAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a := s.Account(0)
	ask := func(id string) *httptest.ResponseRecorder {
		return s.get(s.Token(a), "cpc/v3/account/get", simtest.Query("account_id", id))
	}
	id := simtest.Text(a.ID)
	require.Equal(t, fields{"account_id": json.Number(id), "account_name": a.Name(), "company_name": a.Company(),
		"subject_id": json.Number("9000001")}, data(t, ask(id)))
	require.Equal(t, 40000, code(t, ask("")))
	require.Equal(t, 40301, code(t, ask("1")))
	require.Equal(t, 40301, code(t, ask("x")))
	require.Equal(t, 40301, code(t, ask(simtest.Text(s.Account(150).ID))), "another login's account")
	for state, want := range map[string]int{"frozen": 40302, "revoked": 40301, "open": 0} {
		s.Order("accounts", fields{"media": "bilibili", "account": id, "state": state})
		require.Equal(t, want, code(t, ask(id)), state)
	}
	refused := simtest.Decoded(t, ask("1"))
	require.Equal(t, "fail", refused["status"])
	require.Contains(t, refused, "msg")
}

func TestBilibili_HasPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	token := s.Token(s.Account(0))
	require.Equal(t, 0, s.use(token))
	for name, w := range map[string]*httptest.ResponseRecorder{
		"an unknown path":    s.get(token, "oauth2/none", nil),
		"a slash at the end": s.get(token, "oauth2/user/", nil),
		"a POST of a GET":    s.send(http.MethodPost, token, "oauth2/user", "", ""),
		"a GET of a POST":    s.get(token, "oauth2/token", nil),
	} {
		require.Equal(t, http.StatusNotFound, w.Code, name)
		require.Equal(t, 40000, code(t, w), name)
	}
	r := httptest.NewRequest(http.MethodGet, base+"oauth2/user", nil)
	r.Header.Set("Authorization", token)
	require.Equal(t, 40001, code(t, s.Do(r)), "the word Bearer is missing")
}

func TestBilibili_RefusesOverTheLimits(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	require.Equal(t, []limit.Rule{
		{Media: "bilibili", Endpoint: "*", Scope: "app", Seconds: 1, Limit: 100},
		{Media: "bilibili", Endpoint: "*", Scope: "account", Seconds: 1, Limit: 5},
	}, bilibili.New().Spec().Limits)
	rule := fields{"media": "bilibili", "endpoint": "*", "scope": "account", "period_seconds": 60, "limit": 5}
	s.Order("limits", fields{"rules": []fields{rule}})
	ask := func(a *world.Account) *httptest.ResponseRecorder { return s.about(a, "cpc/v3/account/get") }
	var w *httptest.ResponseRecorder
	for range 6 {
		w = ask(a)
	}
	require.JSONEq(t, `{"status":"fail","code":-429,"message":"qps limit"}`, w.Body.String())
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Header().Get("Retry-After"))
	require.Equal(t, 0, code(t, ask(s.Account(1))), "the limit is an account's")
	s.Assume("http_status_limit", 429)
	w = ask(a)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	s.Assume("code_limit", 7)
	require.Equal(t, 7, code(t, ask(a)))
	rule["scope"], rule["limit"] = "app", 1
	s.Order("limits", fields{"rules": []fields{rule}})
	s.use(s.Token(a))
	require.Equal(t, 7, s.use(s.Token(a)), "calls without an account count too")
}

func TestBilibili_NamesTheEndOfAPenalty(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("clock", fields{"frozen": false}) // the penalty ends with time
	s.Order("traps", fields{"name": "endpoint_shut", "on": true})
	w := s.about(s.Account(0), "cpc/v3/account/get")
	require.Equal(t, -429, code(t, w))
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "300", w.Header().Get("Retry-After"))
}
