package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

type stopAnswer struct {
	ID, Kind, Target, Reason, By, State string
	OrderedAt                           time.Time `json:"ordered_at"`
	Until                               time.Time
	EndedAt                             time.Time `json:"ended_at"`
	LiftedBy                            string    `json:"lifted_by"`
}

func (b *bench) stopped(w *httptest.ResponseRecorder, status int) stopAnswer {
	b.t.Helper()
	require.Equal(b.t, status, w.Code, w.Body.String())
	var a stopAnswer
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// runIn adds a run in a state and returns its id.
func (b *bench) runIn(state task.RunState) string {
	b.t.Helper()
	id := task.NewRunID(now)
	err := b.store.Data.Writer(b.t.Context()).Exec(
		`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind,
 planned_at, state, epoch, total, created_at) VALUES (?, 1, 'report', 'tulip', 'tulip.report_daily', 'normal', 1, '{}',
   'tick', ?, ?, 1, 5, ?)`,
		id, sqldb.At(now), string(state), sqldb.At(now)).Error
	require.NoError(b.t, err)
	return fmt.Sprint(id)
}

func TestStops_AreWrittenWithTheirTargets(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	run := b.runIn(task.RunRunning)
	for _, tt := range []struct {
		kind, target string
		want         string // the target with which consumers compare
	}{
		{"run", run, run},
		{"run", "0" + run, run},
		{"task", "tulip.report_daily.account", "1"},
		{"account", "tulip/9001", fmt.Sprint(account)},
		{"media", "tulip", "tulip"},
		{"media", "system", "system"},
	} {
		t.Run(tt.kind+" "+tt.target, func(t *testing.T) {
			t.Parallel()
			body := fmt.Sprintf(`{"kind": %q, "target": %q, "reason": " the platform asked us to ", "by": "otto"`, tt.kind,
				tt.target)
			pause := b.stopped(b.post("/api/v1/pauses", body+`, "for_seconds": 3600}`), http.StatusCreated)
			cancel := b.stopped(b.post("/api/v1/cancels", body+`}`), http.StatusCreated)
			require.Equal(t, "the platform asked us to", pause.Reason)
			require.Equal(t, time.Hour, pause.Until.Sub(pause.OrderedAt))
			require.Equal(t, []string{tt.kind, tt.target, "otto", "active"},
				[]string{cancel.Kind, cancel.Target, cancel.By, cancel.State})
			active, err := b.store.ActiveStops(t.Context())
			require.NoError(t, err)
			found := 0
			for _, stop := range active {
				switch fmt.Sprint(stop.ID) {
				case pause.ID:
					require.Equal(t, task.Pause, stop.Verb)
				case cancel.ID:
					require.Equal(t, task.Cancel, stop.Verb)
				default:
					continue
				}
				found++
				require.Equal(t, []string{tt.kind, tt.want, tt.target}, []string{string(stop.Kind), stop.Target, stop.TargetName})
				require.Equal(t, now, task.RunTime(stop.ID), "the id is from the clock that makes run ids")
				require.WithinRange(t, stop.OrderedAt, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
					time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))
			}
			require.Equal(t, 2, found)
		})
	}
}

func TestStops_OfARunByItsRoute(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	signed := `{"reason": "wrong days", "by": "otto"}`
	run := b.runIn(task.RunFanningOut)
	cancel := b.stopped(b.post("/api/v1/runs/"+run+"/cancel", signed), http.StatusCreated)
	require.Equal(t, []string{"run", run}, []string{cancel.Kind, cancel.Target})

	pending := task.NewRunID(now)
	require.NoError(t, b.store.AddOrder(t.Context(),
		ledger.RunOrder{RunID: pending, TaskID: 1, Request: task.Order{Scope: task.ScopeAll}, OrderedAt: now}))
	b.stopped(b.post(fmt.Sprintf("/api/v1/runs/%d/cancel", pending), signed), http.StatusCreated)

	ended := b.runIn(task.RunSucceeded)
	w := b.post("/api/v1/runs/"+ended+"/cancel", signed)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "The run "+ended+" has ended already: its state is succeeded.", b.problem(w).Detail)
	for _, id := range []string{"12", "no-number"} {
		require.Equal(t, http.StatusNotFound, b.post("/api/v1/runs/"+id+"/cancel", signed).Code)
	}
	require.Equal(t, 2, b.count(b.store.Data, "stop_order"))
	require.Equal(t, 2, b.count(b.store.Config, "audit_log"))
}

func TestStops_RefuseWrongFields(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	for _, tt := range []struct {
		name, path, body string
		want             []httpapi.FieldError
	}{
		{"nothing", "/api/v1/cancels", `{}`, []httpapi.FieldError{
			{Field: "kind", Detail: "is missing: want one of run, task, account, media"},
			{Field: "target", Detail: "is missing: want a run's id, a task's name, an account as media/id, or a media's name"},
			{Field: "reason", Detail: "is missing: want the reason why the work is to stop"},
		}},
		{"a run without a name", "/api/v1/runs/12/cancel", `{"reason": "  "}`, []httpapi.FieldError{
			{Field: "reason", Detail: "is missing: want the reason why the work is to stop"},
		}},
		{"two ends", "/api/v1/pauses",
			`{"kind": "media", "target": "tulip", "reason": "r", "for_seconds": 5, "until": "2126-01-01T00:00:00Z"}`,
			[]httpapi.FieldError{
				{Field: "until",
					Detail: "for_seconds is given too: want one of the two, or neither for a pause until it is lifted"},
			}},
		{"no length of time", "/api/v1/pauses", `{"kind": "media", "target": "tulip", "reason": "r", "for_seconds": 0}`,
			[]httpapi.FieldError{
				{Field: "for_seconds",
					Detail: "0 is refused: want 1 to 31622400, or neither for_seconds nor until for a pause until it is lifted"},
			}},
		{"no time", "/api/v1/pauses", `{"kind": "media", "target": "tulip", "reason": "r", "until": "tomorrow"}`,
			[]httpapi.FieldError{
				{Field: "until", Detail: `"tomorrow" is refused: want a time such as 2026-11-21T10:30:00Z`},
			}},
		{"an unknown field", "/api/v1/pauses", `{"kind": "media", "target": "tulip", "minutes": 5}`,
			[]httpapi.FieldError{
				{Field: "minutes", Detail: "there is no such field: want by, for_seconds, kind, reason, target, until"},
			}},
		{"an end for a cancel", "/api/v1/cancels", `{"kind": "media", "target": "tulip", "for_seconds": 5}`,
			[]httpapi.FieldError{
				{Field: "for_seconds", Detail: "there is no such field: want by, kind, reason, target"},
			}},
		{"an unknown task", "/api/v1/pauses", `{"kind": "task", "target": "nope", "reason": "r"}`, []httpapi.FieldError{
			{Field: "target", Detail: `there is no task "nope": want one in the list of tasks`},
		}},
		{"an unknown account without its media", "/api/v1/pauses", `{"kind": "account", "target": "99999", "reason": "r"}`,
			[]httpapi.FieldError{
				{Field: "target",
					Detail: `"99999" is not a known account, or several platforms have it: ` +
						`want the media and the platform's id, such as tulip/20000001`},
			}},
		{"an unknown account", "/api/v1/pauses", `{"kind": "account", "target": "tulip/99999", "reason": "r"}`,
			[]httpapi.FieldError{
				{Field: "target",
					Detail: `"tulip/99999" is not a known account, or several platforms have it: ` +
						`want the media and the platform's id, such as tulip/20000001`},
			}},
		{"an unknown media", "/api/v1/pauses", `{"kind": "media", "target": "zeta", "reason": "r"}`, []httpapi.FieldError{
			{Field: "target", Detail: `there is no media "zeta": want one of system, tulip`},
		}},
		{"a long reason", "/api/v1/cancels", `{"kind": "media", "target": "tulip", "reason": "` + strings.Repeat("r", 256) +
			`"}`, []httpapi.FieldError{
			{Field: "reason", Detail: "has 256 characters: want up to 255"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, b.refused(http.MethodPost, tt.path, tt.body))
		})
	}
	past := b.refused(http.MethodPost, "/api/v1/pauses",
		`{"kind": "media", "target": "tulip", "reason": "r", "until": "2020-01-01T00:00:00Z"}`)
	require.Len(t, past, 1)
	require.Contains(t, past[0].Detail, "2020-01-01T00:00:00Z is refused: want a time after ")
	require.Zero(t, b.count(b.store.Data, "stop_order"))
	require.Zero(t, b.count(b.store.Config, "audit_log"))
}

func TestPauses_AreListedAndLifted(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	order := func(extra string) stopAnswer {
		return b.stopped(b.post("/api/v1/pauses", `{"kind": "media", "target": "tulip", "reason": "r", "by": "otto"`+extra+
			`}`), http.StatusCreated)
	}
	forEver, hour := order(""), order(`, "for_seconds": 3600`)
	require.True(t, forEver.Until.IsZero())
	over := order(`, "for_seconds": 60`)
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Exec("UPDATE stop_order SET until_at = '2026-01-01 00:00:00.000' WHERE id = ?",
			over.ID).Error)

	list := func(query string) (ids []string, states map[string]string, next string) {
		var a struct {
			Pauses []stopAnswer
			Next   string
		}
		require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/pauses"+query)), &a))
		states = map[string]string{}
		for _, p := range a.Pauses {
			ids = append(ids, p.ID)
			states[p.ID] = p.State
		}
		return ids, states, a.Next
	}
	ids, states, _ := list("")
	require.Len(t, ids, 3)
	require.Equal(t, map[string]string{forEver.ID: "active", hour.ID: "active", over.ID: "ended"}, states,
		"also before the leader has recorded the end")
	first, _, next := list("?limit=2")
	rest, _, end := list("?limit=2&after=" + next)
	require.Equal(t, ids, append(first, rest...))
	require.Empty(t, end)

	require.Equal(t, http.StatusForbidden, b.call(http.MethodDelete, "/api/v1/pauses/"+hour.ID+"", "", viewerToken).Code)
	lifted := b.stopped(b.call(http.MethodDelete, "/api/v1/pauses/"+hour.ID+"", "", operatorToken), http.StatusOK)
	require.Equal(t, []string{"ended", "otto"}, []string{lifted.State, lifted.LiftedBy})
	again := b.stopped(b.call(http.MethodDelete, "/api/v1/pauses/"+hour.ID+"", "", operatorToken), http.StatusOK)
	require.Equal(t, lifted, again, "it ends only once")
	active, _, _ := list("?state=active")
	require.Contains(t, active, forEver.ID)
	require.NotContains(t, active, hour.ID)

	require.Equal(t, "state", b.refused(http.MethodGet, "/api/v1/pauses?state=over", "")[0].Field)
	cancel := b.stopped(b.post("/api/v1/cancels", `{"kind": "media", "target": "tulip", "reason": "r", "by": "otto"}`),
		http.StatusCreated)
	for _, id := range []string{"12", "x", cancel.ID} {
		require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, "/api/v1/pauses/"+id+"", "", operatorToken).Code)
	}
	require.Contains(t, b.get("/api/v1/cancels?state=active"), cancel.ID)
	require.NotContains(t, b.get("/api/v1/cancels"), hour.ID)
	require.Equal(t, 5, b.count(b.store.Config, "audit_log"), "four orders, and the end of one")
}

// A caller cannot sign with another name: an order is signed with the token's name.
func TestOrders_AreSignedByTheTokensHolder(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	orders := []struct{ method, path, body string }{
		{http.MethodPost, "/api/v1/pauses", `{"kind": "media", "target": "tulip", "reason": "r"%s}`},
		{http.MethodPost, "/api/v1/cancels", `{"kind": "media", "target": "tulip", "reason": "r"%s}`},
		{http.MethodPut, "/api/v1/fields", `{"media": "tulip", "field": "orders", "state": "asked"%s}`},
	}
	want := []httpapi.FieldError{{Field: "by", Detail: `is not the name of the token, "ada": leave it out`}}
	for _, o := range orders {
		for _, own := range []string{"", `, "by": "ada"`, `, "by": " ada "`} {
			w := b.call(o.method, o.path, fmt.Sprintf(o.body, own), adminToken)
			require.Less(t, w.Code, 300, w.Body.String())
			require.Contains(t, w.Body.String(), `"by":"ada"`, o.path)
		}
		w := b.call(o.method, o.path, fmt.Sprintf(o.body, `, "by": "otto"`), adminToken)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, o.path)
		var problem httpapi.Problem
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
		require.Equal(t, want, problem.Errors)
	}
	pause := b.stopped(b.call(http.MethodPost, "/api/v1/pauses", fmt.Sprintf(orders[0].body, ""), adminToken),
		http.StatusCreated)
	require.Equal(t, http.StatusUnprocessableEntity,
		b.call(http.MethodDelete, "/api/v1/pauses/"+pause.ID+"?by=vera", "", adminToken).Code)
	lifted := b.stopped(b.call(http.MethodDelete, "/api/v1/pauses/"+pause.ID, "", adminToken), http.StatusOK)
	require.Equal(t, "ada", lifted.LiftedBy)
}
