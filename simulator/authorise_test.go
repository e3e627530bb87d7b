package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// agree opens the page and returns the target of its redirect.
func (s *sim) agree(path string, pairs ...string) *url.URL {
	w := s.do(httptest.NewRequest(http.MethodGet, path+"?"+query(pairs...).Encode(), nil))
	require.Equal(s.t, http.StatusFound, w.Code, w.Body.String())
	target, err := url.Parse(w.Header().Get("Location"))
	require.NoError(s.t, err)
	return target
}

func TestAuthorise_SendsTheBrowserBackWithACodeOfOneUse(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	app := s.credentials("tencent")
	const back = "https://x.example/cb?a=b"
	ask := func() string {
		target := s.agree("/tencent/oauth/authorize", "client_id", app.AppID, "redirect_uri", back, "state", "s t")
		require.Equal(t, "x.example", target.Host)
		require.Equal(t, "b", target.Query().Get("a"), "parameters of the address stay")
		require.Equal(t, "s t", target.Query().Get("state"))
		return target.Query().Get("authorization_code")
	}
	exchange := func(c, redirect string) *httptest.ResponseRecorder {
		return s.tencentOAuth("grant_type", "authorization_code", "authorization_code", c, "redirect_uri", redirect)
	}
	c := ask()
	require.Equal(t, 18009, code(t, exchange(c, "https://x.example/other")), "another redirect_uri")
	require.NotEmpty(t, data(t, exchange(c, back))["access_token"], "the refusal did not spend the code")
	require.Equal(t, 11013, code(t, exchange(c, back)))
	late := ask()
	require.NoError(t, s.Clock().Set(noon.Add(5*time.Minute)))
	require.Equal(t, 11009, code(t, exchange(late, back)))

	ocean := s.credentials("oceanengine")
	target := s.agree("/oceanengine/openapi/audit/oauth.html", "app_id", ocean.AppID, "redirect_uri",
		"http://127.0.0.1:1/cb", "state", "s")
	d := data(t, s.oceanOAuth("access_token", fields{"auth_code": target.Query().Get("auth_code")}))
	who := data(t, s.do(s.oceanRequest(d["access_token"].(string), "2/user/info/", query())))
	require.Equal(t, "oceanengine-login-1", who["display_name"])
	require.Equal(t, json.Number(s.credentials("oceanengine").Logins[0].UserID), who["id"],
		"credentials have the same login as its authorisation")
	require.NotEmpty(t, who["id"])
}

func TestAuthorise_LetsAPersonChooseTheLogin(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(250)}).unlimited()
	app := s.credentials("tencent")
	ask := []string{"client_id", app.AppID, "redirect_uri", "https://x.example/cb", "state", "<s>"}
	w := s.do(httptest.NewRequest(http.MethodGet, "/tencent/oauth/authorize?"+query(ask...).Encode(), nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "login=tencent-login-2")
	require.NotContains(t, w.Body.String(), "<s>")
	target := s.agree("/tencent/oauth/authorize", append(ask, "login", "tencent-login-2")...)
	d := data(t, s.tencentOAuth("grant_type", "authorization_code", "authorization_code",
		target.Query().Get("authorization_code"), "redirect_uri", "https://x.example/cb"))
	require.NotEmpty(t, d["access_token"])
	require.Equal(t, json.Number(app.Logins[1].UserID), d["authorizer_info"].(map[string]any)["account_id"],
		"credentials have the same login as its authorisation")
	for problem, pairs := range map[string][]string{
		"Unknown app":                {"client_id", "1", "redirect_uri", "https://x.example/cb"},
		"redirect_uri is not a URL.": {"client_id", app.AppID, "redirect_uri", "/cb"},
	} {
		w := s.do(httptest.NewRequest(http.MethodGet, "/tencent/oauth/authorize?"+query(pairs...).Encode(), nil))
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), problem)
	}
}
