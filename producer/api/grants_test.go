package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/store/settings"
)

type grantAnswer struct {
	Granted int
	ValidMs int `json:"valid_ms"`
	WaitMs  int `json:"wait_ms"`
}

// grants requests calls as an operator.
func (b *bench) grants(body string) (got grantAnswer) {
	b.t.Helper()
	w := b.post("/api/v1/grants", body)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &got)
	return got
}

func TestGrants_ComeFromTheLimitsOfOurOwnCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	require.NoError(t, b.rules.Set([]grant.Rule{
		{Media: "tulip", Endpoint: "reports/*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20}}))
	own := grant.Call{Media: "tulip", Endpoint: "reports/get", App: "external", Account: "9001"}
	_, err := b.waiter.Wait(t.Context(), own)
	require.NoError(t, err)
	total := 1
	for total < 4 {
		got := b.grants(`{"media":"tulip","endpoint":"/reports/other","account":"9001","n":3}`)
		require.LessOrEqual(t, got.Granted, 3)
		require.Equal(t, got.Granted > 0, got.ValidMs > 0)
		require.Equal(t, got.Granted == 0, got.WaitMs > 0)
		total += got.Granted
	}
	limits, _, err := b.waiter.State(t.Context(), "tulip")
	require.NoError(t, err)
	require.Len(t, limits, 1)
	require.Equal(t, "external", limits[0].Subject, "its login is unknown")
	require.GreaterOrEqual(t, limits[0].LastMinute, total, "both count")
}

func TestGrants_ARefusalPausesTheCallsOfAllProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec(
		"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at,"+
			" refresh_expires_at) VALUES (1, 'tulip', '17', 'l', 'a', 'r', '2027-01-01', '2027-01-01')").Error)
	require.NoError(t, b.rules.Set([]grant.Rule{
		{Media: "tulip", Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
	}))
	call := `"media":"tulip","endpoint":"reports/get","account":"9001"`
	for b.grants(`{`+call+`,"n":1}`).Granted == 0 { // An empty Redis grants nothing for two seconds.
		continue
	}
	w := b.post("/api/v1/grants/refusal", `{`+call+`,"retry_after_ms":60000}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.JSONEq(t, `{"paused_ms":60000}`, w.Body.String())

	_, pauses, err := b.waiter.State(t.Context(), "tulip")
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.Equal(t, []any{"reports/get", grant.ScopeApp, "17"},
		[]any{pauses[0].Endpoint, pauses[0].Scope, pauses[0].Subject}, "the login's app is paused")
	got := b.grants(`{` + call + `,"n":2}`)
	require.Zero(t, got.Granted)
	require.Greater(t, got.WaitMs, 30_000)

	w = b.post("/api/v1/grants/refusal", `{`+call+`,"scope":"platform","retry_after_ms":86400000}`)
	require.JSONEq(t, `{"paused_ms":3600000}`, w.Body.String(), "a broken answer must not stop a platform for a day")
}

func TestGrants_RefuseWhatTheyDoNotKnowByItsField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Asia/Shanghai", "frozen: by the platform")
	require.NoError(t, b.rules.Set([]grant.Rule{
		{Media: "tulip", Endpoint: "reports/*", Scope: grant.ScopeAccount, Period: time.Minute, Limit: 600}}))
	for body, field := range map[string]string{
		`{"media":"myspace","endpoint":"reports/get","account":"9001","n":1}`:               "media",
		`{"media":"tulip","endpoint":"reports/get","account":"9003","n":1}`:                 "account",
		`{"media":"tulip","endpoint":"reports/get","account":"9002","n":1}`:                 "account",
		`{"media":"tulip","endpoint":"lists/get","account":"9001","n":1}`:                   "endpoint",
		`{"media":"tulip","endpoint":"reports/*","account":"9001","n":1}`:                   "endpoint",
		`{"media":"tulip","endpoint":"/","account":"9001","n":1}`:                           "endpoint",
		`{"media":"tulip","endpoint":"reports/get","account":"9001","n":0}`:                 "n",
		`{"media":"tulip","endpoint":"reports/get","account":"9001","n":101}`:               "n",
		`{"media":"tulip","endpoint":"reports/get","account":"9001"}`:                       "n",
		`{"media":"tulip","endpoint":"reports/get","account":"9001","n":1,"lane":"normal"}`: "lane",
		`{"media":"tulip","endpoint":"reports/get","n":1}`:                                  "account",
	} {
		faults := b.refused(http.MethodPost, "/api/v1/grants", body)
		require.Len(t, faults, 1, body)
		require.Equal(t, field, faults[0].Field, body)
	}
	require.Equal(t, "scope", b.refused(http.MethodPost, "/api/v1/grants/refusal",
		`{"media":"tulip","endpoint":"reports/get","account":"9001","scope":"user"}`)[0].Field)
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPost, "/api/v1/grants",
		`{"media":"tulip","endpoint":"reports/get","account":"9001","n":1}`, viewerToken).Code)
	all, err := b.store.ListAudit(t.Context(), settings.AuditFilter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, all, "grants change no settings")
}
