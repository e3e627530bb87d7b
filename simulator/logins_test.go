package simulator

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/control"
	"adsync/simulator/world"
)

func (s *sim) credentials(media string) control.AppCredentials {
	s.spec(media)
	var all map[string]control.Credentials
	require.NoError(s.t, json.Unmarshal(s.control(http.MethodGet, "credentials", nil).Body.Bytes(), &all))
	return all[media].Apps[0]
}

func (s *sim) tencentOAuth(pairs ...string) *httptest.ResponseRecorder {
	app := s.credentials("tencent")
	q := query("client_id", app.AppID, "client_secret", app.Secret)
	maps.Copy(q, query(pairs...))
	return s.do(httptest.NewRequest(http.MethodGet, "/tencent/oauth/token?"+q.Encode(), nil))
}

func (s *sim) oceanOAuth(path string, more fields) *httptest.ResponseRecorder {
	app := s.credentials("oceanengine")
	body := fields{"app_id": json.Number(app.AppID), "secret": app.Secret}
	maps.Copy(body, more)
	return s.do(httptest.NewRequest(http.MethodPost, "/oceanengine/open_api/oauth2/"+path+"/",
		strings.NewReader(jsonText(body))))
}

func TestLogins_TokensEndByTheWorldsClock(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	ten, oce := s.account("tencent", 0), s.account("oceanengine", 0)
	tenToken, oceToken := s.token(ten), s.token(oce)
	use := func() [2]int {
		return [2]int{
			code(t, s.do(s.tencentRequest(tenToken, "adgroups/get", query("account_id", idText(ten.ID))))),
			code(t, s.do(s.oceanRequest(oceToken, "v3.0/promotion/list/", query("advertiser_id", idText(oce.ID))))),
		}
	}
	require.NoError(t, s.Clock().Set(noon.Add(86_399*time.Second)))
	require.Equal(t, [2]int{0, 0}, use())
	require.NoError(t, s.Clock().Set(noon.Add(86_400*time.Second)))
	require.Equal(t, [2]int{11000, 40102}, use())
	require.NoError(t, s.Clock().Set(noon.Add(2_592_000*time.Second)))
	require.Equal(t, 11012, code(t, s.tencentOAuth("grant_type", "refresh_token", "refresh_token",
		s.credentials("tencent").Logins[0].RefreshToken)))
	require.Equal(t, 40103, code(t, s.oceanOAuth("refresh_token",
		fields{"refresh_token": s.credentials("oceanengine").Logins[0].RefreshToken})))
}

func TestLogins_CodesWorkOnceAndExpire(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	consent := func(media string) string {
		return s.order("codes", fields{"media": s.spec(media).Name, "login": media + "-login-1"})["code"].(string)
	}
	exchange := func(c string) *httptest.ResponseRecorder {
		return s.tencentOAuth("grant_type", "authorization_code", "authorization_code", c, "redirect_uri",
			"https://x.example/cb")
	}
	c := consent("tencent")
	d := data(t, exchange(c))
	require.Equal(t, json.Number(idText(s.account("tencent", 0).ID)), d["authorizer_info"].(fields)["account_id"])
	require.NotEmpty(t, d["refresh_token"])
	require.Equal(t, 11013, code(t, exchange(c)))
	require.Equal(t, 11011, code(t, exchange("x")))
	late := consent("tencent")
	oceanCode, oceanLate := consent("oceanengine"), ""
	d = data(t, s.oceanOAuth("access_token", fields{"auth_code": oceanCode}))
	require.Len(t, d["advertiser_ids"], 40)
	require.Equal(t, 40115, code(t, s.oceanOAuth("access_token", fields{"auth_code": oceanCode})))
	oceanLate = consent("oceanengine")
	require.NoError(t, s.Clock().Set(noon.Add(300*time.Second)))
	require.Equal(t, 11009, code(t, exchange(late)))
	require.NoError(t, s.Clock().Set(noon.Add(600*time.Second)))
	require.Equal(t, 40115, code(t, s.oceanOAuth("access_token", fields{"auth_code": oceanLate})))
	require.Equal(t, http.StatusNotFound, s.control(http.MethodPost, "codes",
		fields{"media": "tencent", "login": "x"}).Code)
}

func TestLogins_AppsMustSendTheirCredentials(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	refresh := s.credentials("tencent").Logins[0].RefreshToken
	for name, c := range map[string]struct {
		set  url.Values
		want int
	}{
		"no app":              {query("client_id", ""), 18001},
		"an unknown app":      {query("client_id", "1"), 11007},
		"a wrong secret":      {query("client_secret", "x"), 11007},
		"no grant type":       {query("grant_type", ""), 18001},
		"another grant type":  {query("grant_type", "password"), 18009},
		"no refresh token":    {query("refresh_token", ""), 18001},
		"a strange one":       {query("refresh_token", "x"), 11010},
		"one of another kind": {query("refresh_token", s.credentials("oceanengine").Logins[0].RefreshToken), 11010},
	} {
		pairs := []string{"grant_type", "refresh_token", "refresh_token", refresh}
		for k, v := range c.set {
			pairs = append(pairs, k, v[0])
		}
		require.Equal(t, c.want, code(t, s.tencentOAuth(pairs...)), name)
	}
	for name, c := range map[string]struct {
		body fields
		want int
	}{
		"an id that is a string": {fields{"app_id": s.credentials("oceanengine").AppID}, 40000},
		"an unknown app":         {fields{"app_id": 5}, 40113},
		"a wrong secret":         {fields{"secret": "x"}, 40002},
		"no refresh token":       {fields{}, 40000},
		"another grant type":     {fields{"refresh_token": "x", "grant_type": "auth_code"}, 40000},
		"a strange one":          {fields{"refresh_token": "x"}, 40107},
	} {
		require.Equal(t, c.want, code(t, s.oceanOAuth("refresh_token", c.body)), name)
	}
}

func TestLogins_OneOfTwoConcurrentRefreshesSucceeds(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	p := s.spec("oceanengine")
	token := s.credentials("oceanengine").Logins[0].RefreshToken
	var wins sync.Map
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, state, err := s.sim.Vault.Refreshed(p, 0, token, s.sim.Clock.Now().Unix(), true); err == nil &&
				state == world.TokenGood {
				wins.Store(i, true)
			}
		})
	}
	group.Wait()
	n := 0
	wins.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n)
}

func TestLogins_AChangeThatCannotBeSavedIsUndone(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	before := s.credentials("oceanengine").Logins[0]
	s.sim.Vault.Save = func() error { return errors.New("the disk is full") }
	require.Equal(t, 50000, code(t, s.oceanOAuth("refresh_token", fields{"refresh_token": before.RefreshToken})))
	require.Equal(t, 30021, code(t, s.tencentOAuth("grant_type", "refresh_token", "refresh_token",
		s.credentials("tencent").Logins[0].RefreshToken)))
	s.sim.Vault.Save = func() error { return nil }
	require.Equal(t, before, s.credentials("oceanengine").Logins[0])
	data(t, s.oceanOAuth("refresh_token", fields{"refresh_token": before.RefreshToken}))
}

func TestLogins_TheConfiguredNumberOfAccountsSharesAnApp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	apps := func(s *sim) []control.AppCredentials {
		var all map[string]control.Credentials
		require.NoError(t, json.Unmarshal(s.control(http.MethodGet, "credentials", nil).Body.Bytes(), &all))
		s.spec("tencent")
		return all["tencent"].Apps
	}
	require.Len(t, apps(newSim(t, Config{Accounts: ofEach(8000)})), 8, "one app per thousand accounts of a platform")

	s := newSim(t, Config{Accounts: ofEach(8000), AppAccounts: 8000, DataDir: dir})
	one := apps(s)
	require.Len(t, one, 1)
	require.Len(t, one[0].Logins, 80)
	// The first and the last account, of different logins, share the app's limit.
	s.order("limits",
		fields{"rules": []fields{{"media": "tencent", "endpoint": "*", "scope": "app", "period_seconds": 1000, "limit": 1}}})
	require.Equal(t, 0, code(t, s.tencentCall(s.account("tencent", 0), "adgroups/get")))
	require.NotZero(t, code(t, s.tencentCall(s.account("tencent", 7999), "adgroups/get")))

	require.NoError(t, s.Close())
	require.Len(t, apps(newSim(t, Config{Accounts: ofEach(8000), DataDir: dir})), 1, "a kept world has its own number")
	_, err := New(Config{Accounts: 2, AppAccounts: 150})
	require.ErrorContains(t, err, "multiple of 100")
}
