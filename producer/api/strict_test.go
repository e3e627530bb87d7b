package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bodies are valid bodies of all operations that take one.
var bodies = map[string]string{
	"addTask": `{"name": "new.one", "media": "tulip", "handler": "tulip.adgroup", "cron": "5 * * * *",
	  "params": {"mode": "full"}}`,
	"editTask":    `{"revision": 3, "cron": "5 * * * *"}`,
	"orderRun":    `{"accounts": ["9001"], "dry_run": true}`,
	"cancelRun":   `{"reason": "r", "by": "b"}`,
	"rerunFailed": `{"rate": 5, "dry_run": true}`,
	"orderCancel": `{"kind": "media", "target": "tulip", "reason": "r", "by": "b"}`,
	"orderPause":  `{"kind": "media", "target": "tulip", "reason": "r", "by": "b"}`,
	"fillHoles":   `{"media": "tulip", "max_subtasks": 5}`,
	"putLogLevel": `{"level": "debug", "role": "all"}`,
	"putField":    `{"media": "tulip", "field": "orders", "state": "off", "by": "b"}`,
	"bindAccount": `{"game": "unassigned", "os": "ios", "dry_run": true}`,
	"bindLogin":   `{"scope": "all", "game": "unassigned", "os": "ios"}`,
	"beginAuthorisation": `{"media": "tulip", "app_id": "17", "app_secret": "s",
	  "redirect_uri": "https://x.example/cb"}`,
	"completeAuthorisation": `{"code": "c"}`,
	"putLane":               `{"pool_size": 5}`,
	"putLimitRule":          `{"media": "tulip", "endpoint": "*", "scope": "app", "period_ms": 1000, "calls": 5}`,
	"redriveDead":           `{"task": "tulip.report_daily.account", "dry_run": true}`,
	"dropDead":              `{"task": "tulip.report_daily.account", "dry_run": true}`,
	"endLimitPauses":        `{"media": "tulip", "dry_run": true}`,
	"putDestination":        `{"kind": "dir", "address": "/srv/reports"}`,
	"putTableCopy":          `{"source": "erp", "key_columns": ["id"]}`,
	"putSubscription":       `{"path": "spend/{day}{ext}", "enabled": false}`,
	"requestGrants":         `{"media": "tulip", "endpoint": "x", "account": "9001", "n": 1}`,
	"reportRefusal":         `{"media": "tulip", "endpoint": "x", "account": "9001"}`,
	"beginPull": `{"media": "tulip", "account": "9001", "report": "report_daily", "level": "account",
	  "day": "2026-11-20"}`,
	"putPullPart":         `{"rows": []}`,
	"completePull":        `{"parts": 0, "total": 0}`,
	"putExternalPlatform": `{"timezone": "UTC", "currency": "USD"}`,
	"putExternalAccounts": `{"accounts": [{"external_id": "1"}]}`,
	"orderPublications":   `{"from": "2026-11-20", "to": "2026-11-20", "dry_run": true}`,
}

// path returns an operation's path to known data.
func (f *fuzzed) path(op operation) string {
	return strings.NewReplacer("{name}", dailyName, "{media}", "tulip", "{external_id}", "9001", "{id}", f.known["id"][0],
		"{run}", f.known["run"][0],
		"{account_id}", f.known["account_id"][0], "{code}", "unassigned", "{lane}", "normal", "{n}", "1").Replace(op.path)
}

// Every route refuses a body with duplicate keys, keys in another case or null: a part of it may be lost or mean
// something else.
func TestRoutes_RefuseAmbiguousBodies(t *testing.T) {
	t.Parallel()
	f := newFuzzed(t)
	changed := func() [3]int {
		return [3]int{f.count(f.store.Data, "manual_order"), f.count(f.store.Config, "audit_log"),
			f.count(f.store.Data, "stop_order")}
	}
	before := changed()
	for _, op := range f.operations() {
		path := f.path(op)
		status := func(body string) int { return f.call(op.method, path, body, adminToken).Code }
		if op.RequestBody == nil {
			if strings.HasPrefix(path, "/api/") {
				require.Equal(t, http.StatusUnprocessableEntity, status(`{"dry_run": true}`), "%s takes no body", op.OperationId)
				require.Equal(t, http.StatusBadRequest, status("null"), "%s takes no body", op.OperationId)
			}
			continue
		}
		good, known := bodies[op.OperationId]
		require.True(t, known, "bodies lacks %s", op.OperationId)
		first, _, _ := strings.Cut(strings.TrimPrefix(good, "{"), ":")
		for _, bad := range []string{" ", "null", "[]", "[" + good + "]", good + good, good + " null", `"x"`, "7",
			good[:len(good)-1], "\xff" + good} {
			require.Equal(t, http.StatusBadRequest, status(bad), "%s: %s", op.OperationId, bad)
		}
		for _, bad := range []string{
			"{" + first + ": null, " + good[1:],                            // the field twice
			good[:len(good)-1] + ", " + strings.ToUpper(first) + ": null}", // in another case, after the right one
			"{" + first + ": null}",
			"{" + strings.ToUpper(first) + good[1+len(first):],
			"{" + first + ": {}}",
			`{"xyz": 1, ` + good[1:],
		} {
			require.Equal(t, http.StatusUnprocessableEntity, status(bad), "%s: %s", op.OperationId, bad)
		}
	}
	require.Equal(t, before, changed())
}

func TestRoutes_RefuseAParameterThatIsGivenTwice(t *testing.T) {
	t.Parallel()
	f := newFuzzed(t)
	for _, op := range f.operations() {
		path := f.path(op)
		for _, p := range op.parameters {
			if p.In != "query" || op.OperationId == "oauthCallback" {
				continue
			}
			w := f.call(op.method, path+"?"+p.Name+"=1&"+p.Name+"=2", "", adminToken)
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s %s", op.OperationId, p.Name)
			require.Contains(t, w.Body.String(), `"is given 2 times: want it once"`, "%s %s", op.OperationId, p.Name)
		}
	}
}

// An order with accounts twice, the second list empty, must not be read as one of the whole scope.
func TestOrder_ThatHasLostItsAccountsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "UTC", "")
	for body, want := range map[string]fieldError{
		`{}`: {Field: "scope",
			Detail: `is missing: want accounts, or "scope": "all" for the task's whole scope`},
		`{"dry_run": true}`: {Field: "scope",
			Detail: `is missing: want accounts, or "scope": "all" for the task's whole scope`},
		`{"accounts": []}`: {Field: "accounts", Detail: "is empty: want a value, or leave it out"},
		`{"from": "2026-11-20", "to": "2026-11-20"}`: {Field: "scope",
			Detail: `is missing: want accounts, or "scope": "all" for the task's whole scope`},
		`{"accounts": ["9001"], "accounts": []}`: {Field: "accounts", Detail: "is given twice: want it once"},
		`{"Accounts": ["9001"]}`: {Field: "Accounts",
			Detail: `there is no such field: want "accounts", in this case`},
		`{"accounts": null, "scope": "all"}`: {Field: "accounts",
			Detail: "is null: want a list, or leave the field out"},
		`{"accounts": ["9001"], "scope": "all"}`: {Field: "scope",
			Detail: "does not go with accounts: leave one of the two out"},
		`{"scope": "active"}`: {Field: "scope",
			Detail: `"active" is refused: want "all" for the task's whole scope, or accounts`},
	} {
		require.Equal(t, []fieldError{want}, b.refused(http.MethodPost, dailyRun, body), body)
	}
	for _, body := range []string{`{}`, `{"max_subtasks": 5}`} {
		require.Equal(t,
			[]fieldError{{Field: "scope", Detail: `is missing: want media, or "scope": "all" for all platforms`}},
			b.refused(http.MethodPost, "/api/v1/coverage/fill", body), body)
	}
	require.Zero(t, b.count(b.store.Data, "manual_order"))
	require.Equal(t, http.StatusAccepted, b.post(dailyRun, `{"scope": "all"}`).Code)
	require.Equal(t, http.StatusOK, b.post("/api/v1/coverage/fill", `{"scope": "all"}`).Code)
}

// Every route refuses an empty text or list in an optional field, by the field's name: its value may have been lost on
// the way.
func TestRoutes_RefuseNarrowingFieldsThatAreEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "UTC", "")
	for path, fields := range map[string]string{
		"/api/v1/dead/redrive":     "task media account run print class text since until",
		"/api/v1/dead/drop":        "task media account run print class text since until",
		"/api/v1/limits/end-pause": "media endpoint subject scope",
		"/api/v1/coverage/fill":    "media scope",
		dailyRun:                   "from to scope",
	} {
		for field := range strings.FieldsSeq(fields) {
			for _, empty := range []string{`""`, `" "`} {
				body := `{"dry_run": true, "` + field + `": ` + empty + `}`
				if strings.HasSuffix(path, "/fill") {
					body = `{"` + field + `": ` + empty + `}`
				}
				require.Contains(t, b.refused(http.MethodPost, path, body),
					fieldError{Field: field, Detail: "is empty: want a value, or leave it out"}, "%s %s", path, body)
			}
		}
	}
	for _, list := range []string{"[]", "[ ]"} {
		require.Contains(t, b.refused(http.MethodPost, dailyRun, `{"scope": "all", "accounts": `+list+`}`),
			fieldError{Field: "accounts", Detail: "is empty: want a value, or leave it out"})
	}
	for _, field := range []string{"report", "level"} {
		body := `{"media": "tulip", "field": "orders", "state": "asked", "` + field + `": ""}`
		require.Contains(t, b.refused(http.MethodPut, "/api/v1/fields", body),
			fieldError{Field: field, Detail: "is empty: want a value, or leave it out"})
	}
}
