package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccounts_AreListedWithLoginBindingsAndCoverage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	two := b.account("tulip", "9002", "inactive", "America/New_York", "code 7: revoked")
	three := b.account("orchid", "9003", "active", "no such zone", "")
	config, data := b.store.Config.Writer(t.Context()), b.store.Data.Writer(t.Context())
	require.NoError(t,
		config.Exec(
			`INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at,
			  refresh_expires_at, state, state_reason)
VALUES (1, 'tulip', 'app', 'login 1', 'secret', 'secret', '2026-11-22 10:00:00', '2026-12-21 10:00:00', 'reauthorise',
  'refused')`).Error)
	require.NoError(t, config.Exec("UPDATE media_account SET token_id = 0, bound = 0 WHERE id = ?", three).Error)
	require.NoError(t,
		config.Exec(
			`INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, '2026-01-01', '9999-12-31',
			  'chess', 'ios'),
  (?, '2026-01-01', '2026-11-20', 'chess', 'ios'), (?, '2026-11-21', '9999-12-31', 'go', 'ios')`, one, two, two).Error)
	require.NoError(t, data.Exec(`INSERT INTO coverage (account_id, report, level, day, media, state, pulled_at) VALUES
  (?, 'report_daily', 'account', '2026-11-21', 'tulip', 'complete', '2026-11-21 10:00:00'), (?, 'report_daily',
    'account', '2026-11-15', 'tulip', 'suspect', '2026-11-20 10:00:00'),
  (?, 'report_daily', 'account', '2026-11-14', 'tulip', 'complete', '2026-11-20 10:00:00'), (?, 'report_daily',
    'account', '2026-11-20', 'tulip', '', NULL)`, one, one, one, one).Error)

	login := `"login": {"id": "1", "login": "login 1", "state": "reauthorise", "reason": "refused",
	  "access_expires_at": "2026-11-22T10:00:00Z", "refresh_expires_at": "2026-12-21T10:00:00Z"}`
	first := `{"id": "` + id(one) +
		`", "media": "tulip", "external_id": "9001", "name": "account 9001", "tier": "active", "timezone": "Asia/Shanghai",
		  "currency": "CNY", "bound": true, "state": "pulled",
	  ` + login +
		`, "coverage": {"from": "2026-11-15", "to": "2026-11-21", "complete": 1, "partial": 0, "suspect": 1, "never": 5,
		  "pulled_at": "2026-11-21T10:00:00Z"},
	  "bindings": [{"from": "2026-01-01", "game": "chess", "os": "ios"}]}`
	second := `{"id": "` + id(two) +
		`", "media": "tulip", "external_id": "9002", "name": "account 9002", "tier": "inactive",
		  "timezone": "America/New_York", "currency": "CNY", "bound": true,
	  "parked": "code 7: revoked", "state": "parked", ` + login +
		`, "coverage": {"from": "2026-11-15", "to": "2026-11-21", "complete": 0, "partial": 0, "suspect": 0, "never": 7},
	  "bindings": [{"from": "2026-01-01", "to": "2026-11-20", "game": "chess", "os": "ios"}, {"from": "2026-11-21",
	    "game": "go", "os": "ios"}]}`
	third := `{"id": "` + id(three) +
		`", "media": "orchid", "external_id": "9003", "name": "account 9003", "tier": "active", "timezone": "no such zone",
		  "currency": "CNY", "bound": false,
	  "state": "unbound", "coverage": {"from": "2026-11-15", "to": "2026-11-21", "complete": 0, "partial": 0,
	    "suspect": 0, "never": 7}, "bindings": []}`
	require.JSONEq(t, `{"accounts": [`+first+`,`+second+`,`+third+`], "next": ""}`, b.get("/api/v1/accounts"))
	for query, want := range map[string]string{
		"?media=orchid": third, "?tier=inactive": second, "?state=parked": second, "?state=pulled": first,
		"?login_state=none": third,
		"?game=chess":       first, "?game=go": second, "?game=unassigned": third,
		"?login_state=reauthorise&media=tulip&tier=active": first,
	} {
		require.JSONEq(t, `{"accounts": [`+want+`], "next": ""}`, b.get("/api/v1/accounts"+query), query)
	}
	require.JSONEq(t, `{"accounts": [`+first+`], "next": "`+id(one)+`"}`, b.get("/api/v1/accounts?limit=1"))
	require.JSONEq(t, `{"accounts": [`+second+`], "next": "`+id(two)+`"}`,
		b.get("/api/v1/accounts?limit=1&after="+id(one)))
	require.JSONEq(t, `{"accounts": [`+third+`], "next": ""}`, b.get("/api/v1/accounts?limit=1&after="+id(two)))

	require.Equal(t, []fieldError{
		{Field: "tier", Detail: `"big" is refused: want one of active, inactive, invalid`},
		{Field: "state", Detail: `"good" is refused: want one of pulled, parked, unbound`},
		{Field: "login_state", Detail: `"bad" is refused: want one of ok, reauthorise, none`},
	}, b.refused(http.MethodGet, "/api/v1/accounts?tier=big&state=good&login_state=bad", ""))
	require.Len(t, b.refused(http.MethodGet, "/api/v1/accounts?media=paper", ""), 1)
}
