package tencent_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
)

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(path string, pairs ...string) *httptest.ResponseRecorder {
	app := s.Credentials()
	q := simtest.Query("client_id", app.AppID, "client_secret", app.Secret)
	maps.Copy(q, simtest.Query(pairs...))
	return s.Do(httptest.NewRequest(http.MethodGet, "/tencent/oauth/"+path+"?"+q.Encode(), nil))
}

func TestTencentLogins_ARefreshKeepsTheRefreshToken(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	old := s.Credentials().Logins[0]
	use := func(token string) int {
		return simtest.Code(t, s.Do(s.request(token, "adgroups/get", simtest.Query("account_id", simtest.Text(a.ID)))))
	}
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Hour)))
	d := simtest.Data(t, s.oauth("token", "grant_type", "refresh_token", "refresh_token", old.RefreshToken))
	require.NotContains(t, d, "refresh_token")
	require.NotContains(t, d, "authorizer_info")
	require.Equal(t, json.Number("86400"), d["access_token_expires_in"])
	require.Equal(t, json.Number("2592000"), d["refresh_token_expires_in"])
	require.Equal(t, 0, use(d["access_token"].(string)))
	require.Equal(t, 11002, use(old.AccessToken), "the old token is dead")
	fresh := s.Credentials().Logins[0]
	require.Equal(t, old.RefreshToken, fresh.RefreshToken)
	require.Equal(t, old.RefreshExpiresAt.Add(time.Hour), fresh.RefreshExpiresAt, "its life is extended")

	s.Order("limits", fields{"old_access_survives": fields{"tencent": true}})
	d2 := simtest.Data(t, s.oauth("token", "grant_type", "refresh_token", "refresh_token", old.RefreshToken))
	require.Equal(t, 0, use(d2["access_token"].(string)))
	require.Equal(t, 0, use(d["access_token"].(string)), "now the old token stays valid")

	d3 := simtest.Data(t, s.oauth("refresh_token", "refresh_token", old.RefreshToken))
	require.NotEqual(t, old.RefreshToken, d3["refresh_token"])
	require.Equal(t, 11002, use(d2["access_token"].(string)))
	require.Equal(t, 11010, simtest.Code(t, s.oauth("token", "grant_type", "refresh_token", "refresh_token",
		old.RefreshToken)))
}
