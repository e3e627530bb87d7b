package tiktok_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
)

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(path string, body fields) *httptest.ResponseRecorder {
	app := s.Credentials()
	return s.post("", "oauth2/"+path, with(fields{"app_id": app.AppID, "secret": app.Secret}, pairs(body)...))
}

// code issues an authorisation code.
func (s *sim) code() string {
	login := fields{"media": "tiktok", "login": s.Credentials().Logins[0].Login}
	return s.Order("codes", login).(fields)["code"].(string)
}

// use makes a call with a token.
func (s *sim) use(token string) int {
	q := values(fields{"advertiser_id": simtest.Text(s.Account(0).ID)})
	return simtest.Code(s.t, s.get(token, "campaign/get", q))
}

func TestLogins_ATokenHasNoEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	login := s.Credentials().Logins[0]
	require.Empty(t, login.RefreshToken, "there is no refresh")
	require.Equal(t, 40104, s.use(""))
	require.Equal(t, 40105, s.use("none"))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(5*365*24*time.Hour)))
	require.Equal(t, 0, s.use(login.AccessToken))
	s.Order("faults", fields{"kind": "token_death", "media": "tiktok"})
	require.Equal(t, 40102, s.use(login.AccessToken))
	d := simtest.Data(t, s.oauth("access_token", fields{"auth_code": s.code()}))
	require.Equal(t, 0, s.use(d["access_token"].(string)))
	s.Order("faults", fields{"kind": "token_death", "media": "tiktok", "token": "pair"})
	require.Equal(t, 40105, s.use(d["access_token"].(string)), "the grant is withdrawn")
}

func TestLogins_ACodeIsExchangedOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 120)
	old := s.Credentials().Logins[0]
	code := s.code()
	d := simtest.Data(t, s.oauth("access_token", fields{"auth_code": code}))
	require.Len(t, d["advertiser_ids"], 100)
	require.Equal(t, old.AccountIDs[0], d["advertiser_ids"].([]any)[0])
	require.Equal(t, []any{json.Number("4"), json.Number("220")}, d["scope"])
	require.NotContains(t, d, "refresh_token")
	require.Equal(t, 40110, simtest.Code(t, s.oauth("access_token", fields{"auth_code": code})), "it was used")
	require.Equal(t, 40110, simtest.Code(t, s.oauth("access_token", fields{"auth_code": "none"})))
	late := s.code()
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour)))
	require.Equal(t, 40110, simtest.Code(t, s.oauth("access_token", fields{"auth_code": late})), "it lives an hour")
	for name, body := range map[string]fields{
		"another secret": {"secret": "x"}, "another app": {"app_id": "1"}, "no number": {"app_id": "x"},
	} {
		require.Equal(t, 40113, simtest.Code(t, s.oauth("access_token", body)), name)
	}
	require.Equal(t, 40002, simtest.Code(t, s.oauth("access_token", fields{"secret": ""})))
	require.Equal(t, 40002, simtest.Code(t, s.oauth("access_token", fields{"return_advertiser_ids": "x"})))
	d = simtest.Data(t, s.oauth("access_token", fields{"auth_code": s.code(), "return_advertiser_ids": false}))
	require.NotContains(t, d, "advertiser_ids")
}

func TestLogins_ASecondGrantReplacesTheToken(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	first := s.Credentials().Logins[0].AccessToken
	second := simtest.Data(t, s.oauth("access_token", fields{"auth_code": s.code()}))["access_token"].(string)
	require.Equal(t, 40105, s.use(first))
	s.Order("limits", fields{"old_access_survives": fields{"tiktok": true}})
	third := simtest.Data(t, s.oauth("access_token", fields{"auth_code": s.code()}))["access_token"].(string)
	require.Equal(t, 0, s.use(second), "the documents do not say what happens to it")
	require.Equal(t, 0, s.use(third))
}

func TestLogins_TheNewerNameOfTheExchange(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	app := s.Credentials()
	exchange := func(pairs ...any) *httptest.ResponseRecorder {
		return s.post("", "oauth2/token", with(fields{"client_id": app.AppID, "client_secret": app.Secret,
			"grant_type": "authorization_code"}, pairs...))
	}
	require.Equal(t, 0, s.use(simtest.Data(t, exchange("code", s.code()))["access_token"].(string)))
	require.Equal(t, 40110, simtest.Code(t, exchange()))
	require.Equal(t, 40002, simtest.Code(t, exchange("grant_type", "refresh_token")))
	require.Equal(t, 40002, simtest.Code(t, exchange("grant_type", "")))
	require.Equal(t, 40002, simtest.Code(t, exchange("client_id", "")))
}

func TestLogins_ARevokedTokenIsDead(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	token := s.Credentials().Logins[0].AccessToken
	require.Equal(t, 40105, simtest.Code(t, s.oauth("revoke_token", fields{"access_token": "none"})))
	require.Equal(t, 40002, simtest.Code(t, s.oauth("revoke_token", fields{"app_id": ""})))
	d := simtest.Data(t, s.oauth("revoke_token", fields{"access_token": token}))
	require.Len(t, d["advertiser_ids"], 40)
	require.Equal(t, s.Credentials().AppID, d["app_id"])
	require.Equal(t, 40105, s.use(token))
}

func TestLogins_TheListOfAccountsHasNoPages(t *testing.T) {
	t.Parallel()
	s := newSim(t, 120)
	app := s.Credentials()
	list := func(pairs ...any) *httptest.ResponseRecorder {
		return s.get(app.Logins[0].AccessToken, "oauth2/advertiser/get", values(with(fields{"app_id": app.AppID,
			"secret": app.Secret}, pairs...)))
	}
	ids := func() (ids []string) {
		for _, x := range simtest.Data(t, list())["list"].([]any) {
			ids = append(ids, x.(fields)["advertiser_id"].(string))
			require.NotEmpty(t, x.(fields)["advertiser_name"])
		}
		return ids
	}
	require.Equal(t, app.Logins[0].AccountIDs, ids())
	s.Order("accounts", fields{"media": "tiktok", "account": app.Logins[0].AccountIDs[3], "state": "revoked"})
	require.NotContains(t, ids(), app.Logins[0].AccountIDs[3])
	require.Len(t, ids(), 99)
	require.Equal(t, 40113, simtest.Code(t, list("secret", "x")))
	require.Equal(t, 40002, simtest.Code(t, list("secret", "")))
	require.Equal(t, 40104, simtest.Code(t, s.get("", "oauth2/advertiser/get", nil)))
}

func TestLogins_TheAppIsThatOfTheToken(t *testing.T) {
	t.Parallel()
	s := newSim(t, 1100)
	first, second := s.Credentials(), s.AppCredentials(1)
	q := values(fields{"app_id": second.AppID, "secret": second.Secret})
	require.Equal(t, 40105, simtest.Code(t, s.get(first.Logins[0].AccessToken, "oauth2/advertiser/get", q)))
	require.Equal(t, 40105, simtest.Code(t, s.post("", "oauth2/revoke_token", fields{"app_id": second.AppID,
		"secret": second.Secret, "access_token": first.Logins[0].AccessToken})))
}
