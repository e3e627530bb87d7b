package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/store/settings"
	"adsync/client"
)

const rulesPath = "/api/v1/limits/rules"

func (b *bench) limitRules(query string) []client.LimitRule {
	b.t.Helper()
	var list client.LimitRuleList
	decode(b.t, b.get(rulesPath+query), &list)
	return list.Rules
}

// own returns the platform's own limit with a period in milliseconds.
func own(media string, period, calls int64) client.LimitRule {
	return client.LimitRule{
		Source: "platform", Media: media, Endpoint: "*", EachEndpoint: true, Scope: "app", PeriodMs: period, Unit: "calls",
		Calls: calls, Share: 0.95, Cost: 1, Enabled: true,
	}
}

func TestLimitRules_RowsOverrideThePlatformsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second, minute := own("tulip", 1000, 20), own("tulip", 60_000, 600)
	require.Equal(t, []client.LimitRule{second, minute}, b.limitRules("?media=tulip"))
	require.Len(t, b.limitRules(""), 4)

	put := func(body string) (r client.LimitRule) {
		t.Helper()
		w := b.call(http.MethodPut, rulesPath, body, adminToken)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		decode(t, w.Body.String(), &r)
		return r
	}
	row := put(
		`{"media": "tulip", "endpoint": "*", "each_endpoint": true, "scope": "app", "period_ms": 60000, "calls": 300,
		  "share": 0.5, "penalty_ms": 5000}`)
	require.Equal(t, client.LimitRule{
		ID: row.ID, Source: "row", Media: "tulip", Endpoint: "*", EachEndpoint: true, Scope: "app", PeriodMs: 60_000,
		Unit: "calls", Calls: 300, Share: 0.5, Cost: 1,
		PenaltyMs: 5000, Enabled: true,
	}, row)
	require.Equal(t, []client.LimitRule{row, second}, b.limitRules("?media=tulip"))
	var shown client.LimitRule
	decode(t, b.get(rulesPath+"/"+row.ID), &shown)
	require.Equal(t, row, shown)

	off := put(
		`{"media": "tulip", "endpoint": "/*", "each_endpoint": true, "scope": "app", "period_ms": 60000,
		  "calls": 300, "enabled": false}`)
	require.Equal(t, row.ID, off.ID, "it replaces the row for the same calls")
	require.False(t, off.Enabled)
	require.Equal(t, []client.LimitRule{off, second}, b.limitRules("?media=tulip"),
		"a row that is switched off removes the platform's own limit")
	put(`{"media": "tulip", "endpoint": "*", "each_endpoint": true, "scope": "app", "period_ms": 60000, "calls": 300}`)

	w := b.call(http.MethodDelete, rulesPath+"/"+row.ID, "", adminToken)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var deleted client.DeletedLimitRule
	decode(t, w.Body.String(), &deleted)
	require.Equal(t, row.ID, deleted.Deleted.ID)
	require.Equal(t, []client.LimitRule{minute}, deleted.InForce, "the platform's own limit is in force again")
	require.Equal(t, []client.LimitRule{second, minute}, b.limitRules("?media=tulip"))
	log := b.auditText()
	require.Len(t, log, 4)
	require.Equal(t,
		`ada limit.put rate_limit/tulip/*/app {"share":0.5,"penalty_ms":5000,"enabled":1} > `+
			`{"share":0.95,"penalty_ms":0,"enabled":0}`, log[1])
	require.Equal(t, `ada limit.put rate_limit/tulip/*/app {"enabled":0} > {"enabled":1}`, log[2])
	require.Contains(t, log[3], `ada limit.delete rate_limit/tulip/*/app {"media":"tulip","endpoint":"*"`)
	for _, id := range []string{row.ID, "x", "0"} {
		require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, rulesPath+"/"+id, "", adminToken).Code)
		require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, rulesPath+"/"+id, "", viewerToken).Code)
	}
}

func TestLimitRule_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, want := range map[string][]fieldError{
		`{"media": "rose", "endpoint": "*", "scope": "app", "period_ms": 1000, "calls": 1}`: {
			{Field: "media", Detail: `"rose" is refused: want tulip or orchid`},
		},
		`{"media": "tulip", "endpoint": "*", "scope": "login", "period_ms": 10, "calls": 0, "unit": "bytes", "penalty_ms": -5,
		  "calls_max": 2147483648}`: {
			{Field: "scope", Detail: `"login" is refused: want one of app, account, platform`},
			{Field: "period_ms", Detail: "10 is refused: want 1000 to 86400000"},
			{Field: "unit", Detail: `"bytes" is refused: want one of calls, rows`},
			{Field: "calls", Detail: "0 is refused: want 1 to 2147483647"},
			{Field: "calls_max", Detail: "2147483648 is refused: want 0 to 2147483647"},
			{Field: "penalty_ms", Detail: "-5 is refused: want 0 or more"},
		},
		`{"media": "tulip", "endpoint": "a*b", "scope": "app", "period_ms": 90000, "calls": 1, "share": 2, "costs": "x",
		  "calendar_zone": "Mars"}`: {
			{Field: "endpoint", Detail: `"a*b": a * is allowed only at the end`},
			{Field: "share", Detail: "2 is not within 0 to 1"},
			{Field: "costs", Detail: `"x": "x" is not like report/get=5 or list/*=2`},
			{Field: "calendar_zone", Detail: `calendar zone "Mars" is not known: want one such as Asia/Shanghai, or nothing ` +
				"for a sliding window"},
			{Field: "period_ms", Detail: "period 1m30s does not go with a calendar zone: want a minute, an hour or a day"},
			{Field: "share", Detail: "2 does not go with a calendar zone: want 0.95 or less, for calls that arrive after " +
				"their window has ended"},
		},
	} {
		require.Equal(t, want, b.refused(http.MethodPut, rulesPath, body), body)
	}
	require.Empty(t, b.auditText())
}

// A row that was written by SQL may differ in its unique key and still be the same limit for the processes that load
// the table.
func TestLimitRule_ThatDuplicatesARowIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := b.store.Config.Writer(t.Context())
	require.NoError(t,
		db.Exec(
			"INSERT INTO rate_limit (media, endpoint, scope, period_ms, calls) VALUES ('tulip', '/x/', 'app', 1000, 5), "+
				"('tulip', 'y', 'app', 1, 5)").Error)
	_, err := b.store.RecordSQLEdits(t.Context(), 0)
	require.NoError(t, err)
	rules := b.limitRules("?media=tulip")
	require.Empty(t, rules[0].Error)
	require.Equal(t, "period 1ms is not within 1s to 24h0m0s", rules[1].Error)
	w := b.call(http.MethodPut, rulesPath,
		`{"media": "tulip", "endpoint": "x", "scope": "app", "period_ms": 1000, "calls": 9}`, adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "The limit cannot be used: row "+rules[0].ID+
		" already has a limit for these calls. Change the other one, or delete it first.", b.problem(w).Detail)
	require.Equal(t, 2, b.count(b.store.Config, "rate_limit"), "nothing was saved")
	require.Empty(t, b.auditText())
}

// The processes that load the table use the rows that the API wrote.
func TestLimitRule_IsInForceWhenTheTableIsLoaded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, http.StatusOK, b.call(http.MethodPut, rulesPath,
		`{"media": "tulip", "endpoint": "/x/*", "scope": "platform", "period_ms": 3600000, "calls": 100,
		  "calls_max": 200, "cost": 2, "costs": "x/y=3", "calendar_zone": "Asia/Shanghai"}`,
		adminToken).Code)
	rows, err := b.store.RateLimits(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, settings.LimitRow{Enabled: true, Rule: grant.Rule{
		ID: rows[0].ID, Media: "tulip", Endpoint: "x/*", Scope: grant.ScopePlatform, Period: time.Hour, Unit: grant.UnitCalls,
		Limit: 100, LimitMax: 200, Share: 0.95, Cost: 2,
		Costs: "x/y=3", Calendar: "Asia/Shanghai",
	}}, rows[0])
}
