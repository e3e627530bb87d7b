package oceanengine_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
)

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(path string, more fields) *httptest.ResponseRecorder {
	app := s.Credentials()
	body := fields{"app_id": json.Number(app.AppID), "secret": app.Secret}
	maps.Copy(body, more)
	return s.Do(httptest.NewRequest(http.MethodPost, "/oceanengine/open_api/oauth2/"+path+"/",
		strings.NewReader(simtest.JSON(body))))
}

func TestOceanEngineLogins_ARefreshRotates(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	old := s.Credentials().Logins[0]
	use := func(token string) int {
		return simtest.Code(t, s.Do(s.request(token, "v3.0/promotion/list/",
			simtest.Query("advertiser_id", simtest.Text(a.ID)))))
	}
	d := simtest.Data(t, s.oauth("refresh_token", fields{"refresh_token": old.RefreshToken}))
	require.Equal(t, json.Number("86400"), d["expires_in"])
	require.Equal(t, 0, use(d["access_token"].(string)))
	require.Equal(t, 40104, use(old.AccessToken))
	require.Equal(t, 40107, simtest.Code(t, s.oauth("refresh_token", fields{"refresh_token": old.RefreshToken})))
	again := simtest.Data(t, s.oauth("refresh_token", fields{"refresh_token": d["refresh_token"],
		"grant_type": "refresh_token"}))
	require.NotEqual(t, d["refresh_token"], again["refresh_token"])
}
