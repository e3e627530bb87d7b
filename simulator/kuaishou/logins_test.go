package kuaishou_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
)

// oauth makes a token call with the app's credentials.
func (s *sim) oauth(path string, body fields) *httptest.ResponseRecorder {
	app := s.Credentials()
	all := fields{"app_id": json.Number(app.AppID), "secret": app.Secret}
	maps.Copy(all, body)
	return s.post("", "oauth2/authorize/"+path, all)
}

// approved makes a call for a page of 60 of the first login's accounts.
func (s *sim) approved(page int) fields {
	return simtest.Decoded(s.t, s.oauth("approval/list", fields{"access_token": s.Credentials().Logins[0].AccessToken,
		"page_no": page, "page_size": 60}))
}

func TestLogins_ARefreshKillsThePair(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, old := s.Account(0), s.Credentials().Logins[0]
	use := func(token string) int {
		return simtest.Code(t, s.post(token, "v1/advertiser/info", fields{"advertiser_id": a.ID}))
	}
	d := simtest.Data(t, s.oauth("refresh_token", fields{"refresh_token": old.RefreshToken}))
	require.Equal(t, json.Number("86400"), d["access_token_expires_in"])
	require.Equal(t, json.Number("2592000"), d["refresh_token_expires_in"])
	require.Equal(t, 402001, use(old.AccessToken))
	require.Equal(t, 402005, simtest.Code(t, s.oauth("refresh_token", fields{"refresh_token": old.RefreshToken})))

	s.Order("limits", fields{"old_access_survives": fields{"kuaishou": true}})
	next := simtest.Data(t, s.oauth("refresh_token", fields{"refresh_token": d["refresh_token"]}))
	require.Equal(t, 0, use(d["access_token"].(string)), "the switch keeps the older access token valid")
	require.Equal(t, 0, use(next["access_token"].(string)))
}

func TestLogins_TokensEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, login := s.Account(0), s.Credentials().Logins[0]
	use := func(token string) int {
		return simtest.Code(t, s.post(token, "v1/advertiser/info", fields{"advertiser_id": a.ID}))
	}
	require.Equal(t, 402000, use(""))
	require.Equal(t, 402001, use(strings.Repeat("0", 32)))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(24*time.Hour)))
	require.Equal(t, 402002, use(login.AccessToken))
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(30*24*time.Hour)))
	require.Equal(t, 402005, simtest.Code(t, s.oauth("refresh_token", fields{"refresh_token": login.RefreshToken})))
	s.Assume("code_token_expired", 402_006)
	require.Equal(t, 402006, use(login.AccessToken), "the documents do not name the code")
}

func TestLogins_ACodeIsExchangedOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	issue := func() string {
		login := fields{"media": "kuaishou", "login": s.Credentials().Logins[0].Login}
		return s.Order("codes", login).(fields)["code"].(string)
	}
	code := issue()
	d := simtest.Data(t, s.oauth("access_token", fields{"auth_code": code}))
	require.Equal(t, json.Number(simtest.Text(s.Account(0).ID)), d["advertiser_id"])
	require.NotEmpty(t, d["refresh_token"])
	require.Equal(t, 402004, simtest.Code(t, s.oauth("access_token", fields{"auth_code": code})), "it was used")
	require.Equal(t, 402004, simtest.Code(t, s.oauth("access_token", nil)))
	late := issue()
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(10*time.Minute)))
	require.Equal(t, 402004, simtest.Code(t, s.oauth("access_token", fields{"auth_code": late})), "it lives ten minutes")
	require.Equal(t, 402003, simtest.Code(t, s.oauth("access_token", fields{"auth_code": code, "secret": "x"})))
	require.Equal(t, 402003, simtest.Code(t, s.oauth("access_token", fields{"auth_code": code, "app_id": 1})))
	require.Equal(t, 401000, simtest.Code(t, s.oauth("access_token", fields{"auth_code": code, "secret": ""})))
}

func TestLogins_TheListOfAccountsEndsWithAnEmptyPage(t *testing.T) {
	t.Parallel()
	s := newSim(t, 120)
	first, second, third := s.approved(1), s.approved(2), s.approved(3)
	require.Equal(t, json.Number("1"), first["code"], "the sample of the document has it for success")
	var ids []string
	for _, page := range []fields{first, second} {
		d := page["data"].(fields)
		require.Equal(t, false, d["isEnd"])
		require.NotContains(t, d, "total_count")
		for _, id := range d["details"].([]any) {
			ids = append(ids, id.(json.Number).String())
		}
	}
	require.Equal(t, s.Credentials().Logins[0].AccountIDs, ids)
	require.Equal(t, fields{"details": []any{}, "isEnd": true}, third["data"])
	require.NotEmpty(t, third["request_id"])

	s.Assume("code_approval", 0)
	require.Equal(t, json.Number("0"), s.approved(1)["code"])
	s.Order("accounts", fields{"media": "kuaishou", "account": ids[3], "state": "revoked"})
	require.NotContains(t, s.approved(1)["data"].(fields)["details"], json.Number(ids[3]))

	for name, body := range map[string]fields{
		"no page":        {"page_size": 10},
		"no size":        {"page_no": 1},
		"201 of a page":  {"page_no": 1, "page_size": 201},
		"the page zero":  {"page_no": 0, "page_size": 10},
		"a page of text": {"page_no": "x", "page_size": 10},
	} {
		body["access_token"] = s.Credentials().Logins[0].AccessToken
		require.Equal(t, 401000, simtest.Code(t, s.oauth("approval/list", body)), name)
	}
	require.Equal(t, 402000, simtest.Code(t, s.oauth("approval/list", fields{"page_no": 1, "page_size": 10})))
	require.Equal(t, 402003, simtest.Code(t, s.oauth("approval/list", fields{"page_no": 1, "page_size": 10, "app_id": 1})))
}
