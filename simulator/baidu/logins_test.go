package baidu_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/baidu"
	"adsync/simulator/limit"
	"adsync/simulator/simtest"
)

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(path string, body fields) *httptest.ResponseRecorder {
	app := s.Credentials()
	all := fields{"appId": app.AppID, "secretKey": app.Secret, "userId": json.Number(app.Logins[0].UserID)}
	maps.Copy(all, body)
	return s.post("oauth/"+path, all)
}

func (s *sim) tokens(refresh any) fields {
	s.t.Helper()
	return simtest.Data(s.t, s.oauth("refreshToken", fields{"refreshToken": refresh}))
}

func (s *sim) refreshCode(refresh any) int {
	return simtest.Code(s.t, s.oauth("refreshToken", fields{"refreshToken": refresh}))
}

// use makes a cheap call with a token.
func (s *sim) use(token any) int64 {
	return code(s.t, s.as(s.Account(0).Name(), token.(string), search+"BalanceService/getBalanceInfo",
		fields{"productIds": []int{1}}))
}

func TestLogins_ARefreshReplacesThePair(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	old := s.Credentials().Logins[0]
	d := s.tokens(old.RefreshToken)
	require.Equal(t, json.Number("86400"), d["expiresIn"])
	require.Equal(t, json.Number("2592000"), d["refreshExpiresIn"])
	require.Equal(t, "2026-11-16 12:34:56", d["expiresTime"])
	require.Equal(t, "2026-12-15 12:34:56", d["refreshExpiresTime"])
	require.Equal(t, json.Number("60000000"), d["userId"])
	require.Equal(t, int64(894_061), s.use(old.AccessToken))
	require.Equal(t, 600_014, s.refreshCode(old.RefreshToken))

	s.Order("limits", fields{"old_access_survives": fields{"baidu": true}})
	next := s.tokens(d["refreshToken"])
	require.Zero(t, s.use(d["accessToken"]), "the switch keeps the older access token valid")
	require.Zero(t, s.use(next["accessToken"]))

	s.Assume("refresh_token", 0)
	kept := s.tokens(next["refreshToken"])
	require.Equal(t, next["refreshToken"], kept["refreshToken"])
	s.Assume("refresh_token", 2)
	require.Empty(t, s.tokens(next["refreshToken"])["refreshToken"])
	require.NotEmpty(t, s.tokens(next["refreshToken"])["accessToken"])
}

func TestLogins_TokensEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	login := s.Credentials().Logins[0]
	require.Equal(t, int64(8401), s.use(""))
	require.Equal(t, int64(894_061), s.use(strings.Repeat("0", 32)))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(24*time.Hour)))
	require.Equal(t, int64(894_062), s.use(login.AccessToken))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(30*24*time.Hour)))
	require.Equal(t, 600_014, s.refreshCode(login.RefreshToken))
	s.Assume("code_token_expired", 8402)
	require.Equal(t, int64(8402), s.use(login.AccessToken), "the documents do not name the code")
}

func TestLogins_ACodeIsExchangedOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	issue := func() string {
		return s.Order("codes", fields{"media": "baidu", "login": "baidu-login-1"}).(fields)["code"].(string)
	}
	exchange := func(code string, more ...any) *httptest.ResponseRecorder {
		return s.oauth("accessToken", with(fields{"authCode": code, "grantType": "auth_code"}, more...))
	}
	given := issue()
	d := simtest.Data(t, exchange(given))
	require.Equal(t, json.Number("60000000"), d["userId"])
	require.Equal(t, "8000000", d["openId"])
	require.NotEmpty(t, d["refreshToken"])
	require.Equal(t, 600_013, simtest.Code(t, exchange(given)), "it was used")
	require.Equal(t, 0, simtest.Code(t, exchange(issue(), "grantType", "access_token")), "the sample has this type")
	late := issue()
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(10*time.Minute)))
	require.Equal(t, 600_013, simtest.Code(t, exchange(late)), "it lives ten minutes")
	require.Equal(t, 600_011, simtest.Code(t, exchange(issue(), "grantType", "code")))
	require.Equal(t, 600_012, simtest.Code(t, exchange(given, "secretKey", "x")))
	require.Equal(t, 600_012, simtest.Code(t, exchange(given, "appId", "1")))
	for _, name := range []string{"appId", "secretKey", "userId"} {
		require.Equal(t, 600_011, simtest.Code(t, exchange(given, name, "")), name)
	}
}

func TestLogins_TheCallbackIsSigned(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	app := s.Credentials()
	ask := simtest.Query("platformId", "4960345965958561794", "appId", app.AppID, "state", "a&b", "callback",
		"https://adsync.example/back?x=1")
	w := s.Do(httptest.NewRequest(http.MethodGet, "/baidu/oauth/page/index?"+ask.Encode(), nil))
	require.Equal(t, http.StatusFound, w.Code, "%s", w.Body)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	q := to.Query()
	require.Equal(t, app.AppID, q.Get("appId"))
	require.Equal(t, "60000000", q.Get("userId"))
	require.Equal(t, 0, simtest.Code(t, s.oauth("accessToken", fields{"authCode": q.Get("authCode"),
		"grantType": "auth_code"})))

	raw, err := hex.DecodeString(q.Get("signature"))
	require.NoError(t, err)
	require.Equal(t, strings.ToUpper(q.Get("signature")), q.Get("signature"))
	block, err := aes.NewCipher([]byte(app.Secret[:16]))
	require.NoError(t, err)
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(raw, raw)
	signed, err := base64.StdEncoding.DecodeString(strings.TrimRight(string(raw), "\x00"))
	require.NoError(t, err)
	require.Equal(t, `{"appId":"`+app.AppID+`","authCode":"`+q.Get("authCode")+`","state":"a&b","timestamp":"`+
		q.Get("timestamp")+`","userId":"60000000","x":"1"}`, string(signed))
	w = s.Do(httptest.NewRequest(http.MethodGet, "/baidu/oauth/page/index?appId="+app.AppID+"&callback=x", nil))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "callback")
}

func TestLogins_AManagerHasItsAccounts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 120)
	login := s.Credentials().Logins[0]
	ask := func(more ...any) fields {
		w := s.post("oauth/getUserInfo", with(fields{"openId": "8000000", "accessToken": login.AccessToken,
			"userId": 60_000_000, "needSubList": true, "pageSize": 60}, more...))
		return simtest.Decoded(t, w)
	}
	first := ask("lastPageMaxUcId", 1)["data"].(fields)
	require.Equal(t, json.Number("2"), first["userAcctType"])
	require.Equal(t, managerName, first["masterName"])
	require.Equal(t, json.Number("60000000"), first["masterUid"])
	require.Equal(t, true, first["hasNext"])
	list := first["subUserList"].([]any)
	require.Len(t, list, 60)
	second := ask("lastPageMaxUcId", list[59].(fields)["ucId"])["data"].(fields)
	require.Equal(t, false, second["hasNext"])
	var got []string
	for _, x := range append(list, second["subUserList"].([]any)...) {
		got = append(got, x.(fields)["ucId"].(json.Number).String())
	}
	require.Equal(t, login.AccountIDs, got)
	require.Equal(t, s.Account(0).Name(), list[0].(fields)["ucName"])
	require.Empty(t, ask("needSubList", false)["data"].(fields)["subUserList"])

	users := rows(t, s.manage(managed, nil))
	require.Equal(t, login.AccountIDs, simtest.Texts(users, "userid"))
	require.Equal(t, fields{"userid": json.Number(got[0]), "username": s.Account(0).Name(),
		"mccid": json.Number("60000000"), "fatname": managerName, "remark": ""}, users[0])
	require.Equal(t, int64(8406), code(t, s.call(s.Account(0), managed, nil)), "the user is no manager")
	s.Order("accounts", fields{"media": "baidu", "account": got[3], "state": "revoked"})
	require.NotContains(t, simtest.Texts(rows(t, s.manage(managed, nil)), "userid"), got[3])

	for name, more := range map[string][]any{
		"501 of a page": {"pageSize", 501}, "a page of nothing": {"pageSize", 0}, "another user": {"userId", 1},
		"another open id": {"openId", "x"}, "a text after": {"lastPageMaxUcId", "x"},
	} {
		require.Equal(t, json.Number("600011"), ask(more...)["code"], name)
	}
	require.Equal(t, json.Number("600015"), ask("accessToken", "x")["code"])
	require.Equal(t, json.Number("600015"), ask("accessToken", "")["code"])
}

func TestLogins_AnAccountMayBeItsOwnUser(t *testing.T) {
	t.Parallel()
	s := newSim(t, 1)
	a, login := s.Account(0), s.Credentials().Logins[0]
	d := simtest.Data(t, s.post("oauth/getUserInfo", fields{"openId": "8000000", "accessToken": login.AccessToken,
		"userId": a.ID, "needSubList": true}))
	require.Equal(t, fields{"masterUid": json.Number(simtest.Text(a.ID)), "masterName": a.Name(),
		"userAcctType": json.Number("1"), "hasNext": false, "subUserList": []any{}}, d)
	require.Equal(t, int64(8406), code(t, s.call(a, managed, nil)))
}

func TestCalls_ChecksTheAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a, path := s.Account(0), search+"BalanceService/getBalanceInfo"
	body := fields{"productIds": []int{1}}
	require.Zero(t, code(t, s.call(a, path, body)))
	require.Equal(t, int64(8101), code(t, s.as("", s.Token(a), path, body)))
	for _, user := range []string{"x", "x-1", "梦-0", a.Name() + "0", s.Account(150).Name(), managerName} {
		require.Equal(t, int64(8406), code(t, s.as(user, s.Token(a), path, body)), user)
	}
	require.Zero(t, code(t, s.call(a, path, with(body, "userName", "x", "accessToken", "x"))), "the header counts")
	order := func(state string) {
		s.Order("accounts", fields{"media": "baidu", "account": simtest.Text(a.ID), "state": state})
	}
	order("frozen")
	require.Equal(t, int64(8303), code(t, s.call(a, path, body)))
	order("revoked")
	require.Equal(t, int64(8406), code(t, s.call(a, path, body)))
	order("open")
	require.Zero(t, code(t, s.call(a, path, body)))
	require.Equal(t, int64(8101), code(t, s.Do(httptest.NewRequest(http.MethodPost, "/baidu/json/"+path,
		strings.NewReader("{")))))
	for _, path := range []string{"/baidu/json/sms/service/KeywordService/getWord", "/baidu/json", "/baidu/report/file"} {
		require.Equal(t, http.StatusNotFound, s.Do(httptest.NewRequest(http.MethodPost, path, nil)).Code, path)
	}
	get := httptest.NewRequest(http.MethodGet, "/baidu/json/"+path, nil)
	require.Equal(t, http.StatusNotFound, s.Do(get).Code)
}

func TestCalls_OverLimit(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("limits", fields{"rules": []limit.Rule{{Media: "baidu", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60,
		Limit: 1}}})
	ask := func() *httptest.ResponseRecorder {
		return s.call(a, search+"BalanceService/getBalanceInfo", fields{"productIds": []int{1}})
	}
	require.Zero(t, code(t, ask()))
	w := ask()
	state, codes := status(t, w)
	require.Equal(t, int64(2), state)
	require.Equal(t, []int64{8501}, codes)
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Header().Get("Retry-After"))
	s.Assume("status_limit", 3)
	s.Assume("http_status_limit", 429)
	w = ask()
	state, _ = status(t, w)
	require.Equal(t, int64(3), state)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Equal(t, 600_014, s.refreshCode("x"))
	require.Equal(t, 8501, s.refreshCode("x"), "the token calls have another envelope")
}

func TestCalls_AShutEndpointHasItsOwnCode(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("limits", fields{"penalties": true, "rules": []limit.Rule{{Media: "baidu", Endpoint: "*",
		Scope: limit.ScopeApp, Seconds: 1, Limit: 1}}})
	var codes []int
	for range 3 {
		codes = append(codes, int(code(t, s.call(s.Account(0), search+"BalanceService/getBalanceInfo",
			fields{"productIds": []int{1}}))))
	}
	require.Equal(t, []int{0, 8501, 901_160}, codes)
}

func TestCalls_TheSystemIsBusy(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("traps", fields{"name": "platform_busy", "on": true})
	state, codes := status(t, s.call(s.Account(0), search+"BalanceService/getBalanceInfo", fields{"productIds": []int{1}}))
	require.Equal(t, int64(3), state)
	require.Equal(t, []int64{800}, codes)
}

func TestWorld_IsChinas(t *testing.T) {
	t.Parallel()
	s := simtest.NewAt(t, baidu.New(), 4, 1, simtest.Noon)
	lines := s.Do(httptest.NewRequest(http.MethodGet, "/_sim/truth?media=baidu&kind=account", nil)).Body.String()
	require.Contains(t, lines, "CNY")
	require.NotContains(t, lines, "USD")
	r := httptest.NewRequest(http.MethodPost, "/json/"+search+"AccountService/getAccountInfo", nil)
	r.Host = "api.baidu.com"
	require.Equal(t, int64(8101), code(t, s.Do(r)), "the real host needs no prefix")
}
