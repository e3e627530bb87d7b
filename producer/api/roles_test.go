package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/producer/api"
)

// routeRoles lists for each route the role that it needs, and a call that it accepts. The test fails if a route is
// missing here.
var routeRoles = []struct {
	role                       httpapi.Role
	method, path, sample, body string
}{
	{httpapi.Viewer, "GET", "/api/v1/tasks", "/api/v1/tasks", ""},
	{httpapi.Admin, "POST", "/api/v1/tasks", "/api/v1/tasks",
		`{"name": "new.one", "media": "tulip", "handler": "tulip.adgroup", "cron": "5 * * * *"}`},
	{httpapi.Viewer, "GET", "/api/v1/tasks/:name", "/api/v1/tasks/tulip.report_daily.account", ""},
	{httpapi.Admin, "PATCH", "/api/v1/tasks/:name", "/api/v1/tasks/tulip.report_daily.account",
		`{"revision": 1, "cron": "5 * * * *"}`},
	{httpapi.Operator, "POST", "/api/v1/tasks/:name/enable", "/api/v1/tasks/tulip.report_daily.account/enable", ""},
	{httpapi.Operator, "POST", "/api/v1/tasks/:name/disable", "/api/v1/tasks/tulip.report_daily.account/disable", ""},
	{httpapi.Operator, "POST", "/api/v1/tasks/reload", "/api/v1/tasks/reload", ""},
	{httpapi.Operator, "POST", "/api/v1/tasks/:name/run", "/api/v1/tasks/tulip.report_daily.account/run",
		`{"scope": "all"}`},
	{httpapi.Viewer, "GET", "/api/v1/runs", "/api/v1/runs", ""},
	{httpapi.Viewer, "GET", "/api/v1/runs/:id", "/api/v1/runs/7529853616300212345", ""},
	{httpapi.Operator, "POST", "/api/v1/runs/:id/cancel", "/api/v1/runs/7529853616300212345/cancel", `{"reason": "r"}`},
	{httpapi.Operator, "POST", "/api/v1/runs/:id/rerun", "/api/v1/runs/7529853616300212345/rerun", `{}`},
	{httpapi.Viewer, "GET", "/api/v1/cancels", "/api/v1/cancels", ""},
	{httpapi.Operator, "POST", "/api/v1/cancels", "/api/v1/cancels",
		`{"kind": "media", "target": "tulip", "reason": "r"}`},
	{httpapi.Viewer, "GET", "/api/v1/pauses", "/api/v1/pauses", ""},
	{httpapi.Operator, "POST", "/api/v1/pauses", "/api/v1/pauses", `{"kind": "media", "target": "tulip", "reason": "r"}`},
	{httpapi.Operator, "DELETE", "/api/v1/pauses/:id", "/api/v1/pauses/1", ""},
	{httpapi.Anyone, "GET", "/oauth/:media/callback", "/oauth/tulip/callback", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id", "/api/v1/accounts/tulip/9001", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/coverage", "/api/v1/accounts/tulip/9001/coverage", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/changes", "/api/v1/accounts/tulip/9001/changes", ""},
	{httpapi.Viewer, "GET", "/api/v1/coverage/untrusted", "/api/v1/coverage/untrusted", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/bindings", "/api/v1/accounts/tulip/9001/bindings", ""},
	{httpapi.Admin, "POST", "/api/v1/accounts/:media/:external_id/bindings", "/api/v1/accounts/tulip/9001/bindings",
		`{"game": "unassigned", "os": "ios"}`},
	{httpapi.Admin, "DELETE", "/api/v1/accounts/:media/:external_id/bindings", "/api/v1/accounts/tulip/9001/bindings", ""},
	{httpapi.Viewer, "GET", "/api/v1/logins", "/api/v1/logins", ""},
	{httpapi.Admin, "POST", "/api/v1/logins/:id/accounts", "/api/v1/logins/1/accounts", `{"scope": "all"}`},
	{httpapi.Admin, "POST", "/api/v1/authorisations", "/api/v1/authorisations",
		`{"media": "tulip", "app_id": "17", "redirect_uri": "https://x.example/oauth/tulip/callback"}`},
	{httpapi.Viewer, "GET", "/api/v1/authorisations/:id", "/api/v1/authorisations/ab", ""},
	{httpapi.Admin, "POST", "/api/v1/authorisations/:id/complete", "/api/v1/authorisations/ab/complete",
		`{"code": "c"}`},
	{httpapi.Viewer, "GET", "/api/v1/games", "/api/v1/games", ""},
	{httpapi.Viewer, "GET", "/api/v1/games/:code", "/api/v1/games/unassigned", ""},
	{httpapi.Viewer, "GET", "/api/v1/lanes", "/api/v1/lanes", ""},
	{httpapi.Viewer, "GET", "/api/v1/lanes/:media/:lane", "/api/v1/lanes/*/normal", ""},
	{httpapi.Admin, "PUT", "/api/v1/lanes/:media/:lane", "/api/v1/lanes/*/normal", `{"pool_size": 5}`},
	{httpapi.Admin, "DELETE", "/api/v1/lanes/:media/:lane", "/api/v1/lanes/*/offline", ""},
	{httpapi.Viewer, "GET", "/api/v1/limits/rules", "/api/v1/limits/rules", ""},
	{httpapi.Viewer, "GET", "/api/v1/limits/rules/:id", "/api/v1/limits/rules/1", ""},
	{httpapi.Admin, "PUT", "/api/v1/limits/rules", "/api/v1/limits/rules",
		`{"media": "tulip", "endpoint": "*", "scope": "app", "period_ms": 1000, "calls": 5}`},
	{httpapi.Admin, "DELETE", "/api/v1/limits/rules/:id", "/api/v1/limits/rules/1", ""},
	{httpapi.Viewer, "GET", "/api/v1/coverage/holes", "/api/v1/coverage/holes", ""},
	{httpapi.Operator, "POST", "/api/v1/coverage/fill", "/api/v1/coverage/fill", `{"scope": "all"}`},
	{httpapi.Viewer, "GET", "/api/v1/reconciliation", "/api/v1/reconciliation", ""},
	{httpapi.Viewer, "GET", "/api/v1/subtasks/:run/:account_id/wait", "/api/v1/subtasks/7529853616300212345/1/wait?part=x",
		""},
	{httpapi.Viewer, "GET", "/api/v1/subtasks/:run/:account_id", "/api/v1/subtasks/7529853616300212345/1?part=x", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/wait", "/api/v1/accounts/tulip/9001/wait", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/why", "/api/v1/accounts/tulip/9001/why", ""},
	{httpapi.Viewer, "GET", "/api/v1/limits", "/api/v1/limits", ""},
	{httpapi.Operator, "POST", "/api/v1/grants", "/api/v1/grants",
		`{"media": "tulip", "endpoint": "x", "account": "9001", "n": 1}`},
	{httpapi.Operator, "POST", "/api/v1/grants/refusal", "/api/v1/grants/refusal",
		`{"media": "tulip", "endpoint": "x", "account": "9001"}`},
	{httpapi.Operator, "POST", "/api/v1/pulls", "/api/v1/pulls",
		`{"media": "tulip", "account": "9001", "report": "report_daily", "level": "account", "day": "2026-11-20"}`},
	{httpapi.Operator, "PUT", "/api/v1/pulls/:id/parts/:n", "/api/v1/pulls/1-x/parts/1", `{"rows": []}`},
	{httpapi.Operator, "POST", "/api/v1/pulls/:id/complete", "/api/v1/pulls/1-x/complete", `{"parts": 0, "total": 0}`},
	{httpapi.Viewer, "GET", "/api/v1/platforms", "/api/v1/platforms", ""},
	{httpapi.Viewer, "GET", "/api/v1/platforms/:media", "/api/v1/platforms/tenth", ""},
	{httpapi.Admin, "PUT", "/api/v1/platforms/:media", "/api/v1/platforms/tenth",
		`{"timezone": "UTC", "currency": "USD"}`},
	{httpapi.Admin, "POST", "/api/v1/platforms/:media/accounts", "/api/v1/platforms/tenth/accounts",
		`{"accounts": [{"external_id": "1"}]}`},
	{httpapi.Viewer, "GET", "/api/v1/limits/usage", "/api/v1/limits/usage", ""},
	{httpapi.Operator, "POST", "/api/v1/limits/end-pause", "/api/v1/limits/end-pause", `{"scope": "all"}`},
	{httpapi.Viewer, "GET", "/api/v1/fields", "/api/v1/fields", ""},
	{httpapi.Admin, "PUT", "/api/v1/fields", "/api/v1/fields", `{"media": "tulip", "field": "orders", "state": "asked"}`},
	{httpapi.Viewer, "GET", "/api/v1/dead", "/api/v1/dead", ""},
	{httpapi.Viewer, "GET", "/api/v1/dead/groups", "/api/v1/dead/groups", ""},
	{httpapi.Viewer, "GET", "/api/v1/dead/subtask", "/api/v1/dead/subtask?run=1&account_id=1&part=x", ""},
	{httpapi.Operator, "POST", "/api/v1/dead/redrive", "/api/v1/dead/redrive", `{"scope": "all"}`},
	{httpapi.Operator, "POST", "/api/v1/dead/drop", "/api/v1/dead/drop", `{"scope": "all"}`},
	{httpapi.Viewer, "GET", "/api/v1/openapi.yaml", "/api/v1/openapi.yaml", ""},
	{httpapi.Viewer, "GET", "/api/v1/runs/:id/subtasks", "/api/v1/runs/7529853616300212345/subtasks", ""},
	{httpapi.Viewer, "GET", "/api/v1/due", "/api/v1/due", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts", "/api/v1/accounts", ""},
	{httpapi.Viewer, "GET", "/api/v1/accounts/:media/:external_id/subtasks", "/api/v1/accounts/tulip/9001/subtasks", ""},
	{httpapi.Viewer, "GET", "/api/v1/consumers", "/api/v1/consumers", ""},
	{httpapi.Viewer, "GET", "/api/v1/floors", "/api/v1/floors", ""},
	{httpapi.Viewer, "GET", "/api/v1/kinds", "/api/v1/kinds", ""},
	{httpapi.Viewer, "GET", "/api/v1/overview", "/api/v1/overview", ""},
	{httpapi.Viewer, "GET", "/api/v1/audit", "/api/v1/audit", ""},
	{httpapi.Viewer, "GET", "/api/v1/log-level", "/api/v1/log-level", ""},
	{httpapi.Admin, "PUT", "/api/v1/log-level", "/api/v1/log-level", `{"level": "debug"}`},
	{httpapi.Admin, "DELETE", "/api/v1/log-level", "/api/v1/log-level", ""},
	{httpapi.Admin, "DELETE", "/api/v1/tasks/:name", "/api/v1/tasks/tulip.report_daily.account", ""},
	{httpapi.Viewer, "GET", "/api/v1/destinations", "/api/v1/destinations", ""},
	{httpapi.Viewer, "GET", "/api/v1/destinations/:name", "/api/v1/destinations/depot", ""},
	{httpapi.Admin, "PUT", "/api/v1/destinations/:name", "/api/v1/destinations/depot",
		`{"kind": "dir", "address": "/no/such/directory"}`},
	{httpapi.Admin, "DELETE", "/api/v1/destinations/:name", "/api/v1/destinations/none", ""},
	{httpapi.Operator, "POST", "/api/v1/destinations/:name/test", "/api/v1/destinations/depot/test", ""},
	{httpapi.Viewer, "GET", "/api/v1/copies", "/api/v1/copies", ""},
	{httpapi.Viewer, "GET", "/api/v1/copies/:name", "/api/v1/copies/orders", ""},
	{httpapi.Admin, "PUT", "/api/v1/copies/:name", "/api/v1/copies/orders", aCopy},
	{httpapi.Admin, "DELETE", "/api/v1/copies/:name", "/api/v1/copies/none", ""},
	{httpapi.Operator, "POST", "/api/v1/copies/:name/check", "/api/v1/copies/orders/check", ""},
	{httpapi.Viewer, "GET", "/api/v1/subscriptions", "/api/v1/subscriptions", ""},
	{httpapi.Viewer, "GET", "/api/v1/subscriptions/:name", "/api/v1/subscriptions/spend", ""},
	{httpapi.Admin, "PUT", "/api/v1/subscriptions/:name", "/api/v1/subscriptions/spend", aSubscription},
	{httpapi.Admin, "DELETE", "/api/v1/subscriptions/:name", "/api/v1/subscriptions/none", ""},
	{httpapi.Operator, "POST", "/api/v1/subscriptions/:name/publications", "/api/v1/subscriptions/spend/publications",
		`{"from": "2026-11-19", "to": "2026-11-20"}`},
	{httpapi.Viewer, "GET", "/api/v1/publications", "/api/v1/publications", ""},
	{httpapi.Viewer, "GET", "/api/v1/publications/:id", "/api/v1/publications/7", ""},
	{httpapi.Operator, "POST", "/api/v1/publications/:id/redeliver", "/api/v1/publications/7/redeliver", ""},
	{httpapi.Operator, "POST", "/api/v1/publications/:id/cancel", "/api/v1/publications/7/cancel", ""},
}

// ranks are the bench's tokens and their roles, the weakest first.
var ranks = []struct {
	role  httpapi.Role
	token string
}{{httpapi.Viewer, viewerToken}, {httpapi.Operator, operatorToken}, {httpapi.Admin, adminToken}}

func TestRoutes_RequireTheirRole(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	listed := map[string]bool{}
	for _, r := range routeRoles {
		listed[r.method+" "+r.path+" "+string(r.role)] = true
		if r.role == httpapi.Anyone {
			continue
		}
		require.Equal(t, http.StatusUnauthorized, b.call(r.method, r.sample, r.body, "").Code, "%s %s", r.method, r.path)
		allowed := false
		for _, k := range ranks {
			allowed = allowed || k.role == r.role
			if allowed {
				continue // Allowed calls may change something: they come last.
			}
			w := b.call(r.method, r.sample, r.body, k.token)
			require.Equal(t, http.StatusForbidden, w.Code, "%s %s as %s", r.method, r.path, k.role)
		}
		if r.method != http.MethodGet {
			require.NotEqual(t, httpapi.Viewer, r.role, "%s %s changes something", r.method, r.path)
		}
	}
	for _, r := range api.Routes(api.Deps{}) {
		require.True(t, listed[r.Method+" "+r.Path+" "+string(r.Role)],
			"add %s %s with the role %s to routeRoles", r.Method, r.Path, r.Role)
	}
	require.Len(t, routeRoles, len(api.Routes(api.Deps{})))

	// A viewer's calls change nothing.
	for _, r := range routeRoles {
		if r.role == httpapi.Viewer {
			w := b.call(r.method, r.sample, r.body, viewerToken)
			require.NotEqual(t, http.StatusForbidden, w.Code, "%s %s", r.method, r.path)
			require.Less(t, w.Code, 500, "%s %s: %s", r.method, r.path, w.Body.String())
		}
	}
	require.Zero(t, b.count(b.store.Config, "audit_log"), "nothing has changed yet")
	require.Zero(t, b.count(b.store.Data, "manual_order"))

	for _, r := range routeRoles {
		for _, k := range ranks {
			if k.role == r.role && r.role != httpapi.Viewer {
				w := b.call(r.method, r.sample, r.body, k.token)
				require.NotEqual(t, http.StatusForbidden, w.Code, "%s %s as %s", r.method, r.path, k.role)
				require.Less(t, w.Code, 500, "%s %s: %s", r.method, r.path, w.Body.String())
			}
		}
	}
	require.NotZero(t, b.count(b.store.Config, "audit_log"))
	require.NotContains(t, strings.Join(b.auditText(), "\n"), operatorToken)
}
