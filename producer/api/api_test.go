package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/loglevel"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis/redistest"
	"adsync/base/roster"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/oauth"
	"adsync/media/pull"
	"adsync/producer"
	"adsync/producer/api"
	"adsync/producer/overview"
	"adsync/upkeep"
)

// now is 18:30 in Shanghai and 05:30 in New York, both on 21 November.
var now = time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)

// fixedClock always returns now.
type fixedClock struct{ clock.System }

func (fixedClock) Now() time.Time { return now }

// fakeProducer serves tasks from memory.
type fakeProducer struct {
	mu     sync.Mutex
	tasks  []producer.Task
	reload func() []producer.Task // returns the table's tasks at the next reload
	woken  int
}

func (f *fakeProducer) Tasks() []producer.Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]producer.Task{}, f.tasks...)
}

func (f *fakeProducer) Reload(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks = f.reload()
	return nil
}

func (*fakeProducer) CheckTask(context.Context, int64, []settings.TaskRow, []settings.Lane) ([]*config.FieldError,
	error) {
	return nil, nil
}

func (f *fakeProducer) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.woken++
}

var (
	viewerToken   = strings.Repeat("v", 20)
	operatorToken = strings.Repeat("o", 20)
	adminToken    = strings.Repeat("a", 40) // configured by its hash
)

// bench is a ready server with the routes over an empty store.
type bench struct {
	t        *testing.T
	store    *store.Store
	producer *fakeProducer
	server   *httpapi.Server
	rules    *grant.Rules
	waiter   *ratelimit.Waiter
	box      *secret.Box // of the credentials of destinations
	sources  copies.Sources
	// The fields below are only set by setupLive.
	topics  *memoryBroker
	first   *producer.Producer
	another func() *producer.Producer // starts another one
	roster  *roster.Roster
	redis   goredis.UniversalClient
	// Of a bench that authorises logins.
	flows  map[string]*oauth.Flow
	logger *slog.Logger
}

func setup(t *testing.T, tasks ...producer.Task) *bench {
	t.Helper()
	b := &bench{t: t, store: storetest.New(t), producer: &fakeProducer{tasks: tasks}}
	b.serve(b.producer, registry(b.store), fixedClock{})
	return b
}

// serve makes the server and registers the routes.
func (b *bench) serve(p api.Producer, handlers *media.Registry, c clock.Clock) {
	b.t.Helper()
	cfg := httpapi.DefaultConfig()
	cfg.Tokens = []httpapi.Token{
		{Name: "vera", Token: secret.NewText(viewerToken), Role: httpapi.Viewer},
		{Name: "otto", Token: secret.NewText(operatorToken), Role: httpapi.Operator},
		{Name: "ada", Token: secret.NewText(httpapi.HashToken(secret.NewText(adminToken))), Role: httpapi.Admin},
	}
	var err error
	if b.logger == nil {
		b.logger = slog.New(slog.DiscardHandler)
	}
	b.server, err = httpapi.New(cfg, telemetry.NewRegistry(), b.logger)
	require.NoError(b.t, err)
	b.rules = grant.NewRules()
	client, keys := redistest.New(b.t)
	b.redis, b.roster = client, roster.New(client, keys)
	b.waiter = ratelimit.New(ratelimit.DefaultConfig(), client, keys, b.store, b.rules, nil, slog.New(slog.DiscardHandler))
	b.box, err = secret.NewBox(secret.NewKey("k1"))
	require.NoError(b.t, err)
	board := overview.NewReader(overview.Options{Store: b.store, Platforms: []string{invented.Tulip, invented.Orchid},
		Tasks: p.Tasks, Limits: b.waiter, Clock: c})
	b.server.Register(api.Routes(api.Deps{
		Overview: board.Read, Why: board.Why,
		Store: b.store, Now: b.store.Data.Now, Producer: p, Registry: handlers, Platforms: invented.Both(), Limits: b.waiter,
		Flows: b.flows, LogLevels: loglevel.NewOrders(client, keys), Consumers: b.roster, Box: b.box,
		Sources: b.sources, Clock: c,
	})...)
	require.NoError(b.t, b.server.Gate().Start(b.t.Context()))
}

// registry returns the real handlers of reports, lists and the system, and one that works on logins.
func registry(s *store.Store) *media.Registry {
	handlers := pull.Handlers(invented.New(), pull.Deps{Registerer: prometheus.NewRegistry()})
	handlers = append(handlers, upkeep.Handlers(upkeep.Deps{Store: s, Platforms: []media.Platform{invented.New()}})...)
	return media.NewRegistry(append(handlers, media.Handler{Name: "tulip.token_refresh", Target: media.Logins})...)
}

// good returns a task that can run.
func good(id int64, name, handler, params string) producer.Task {
	t := producer.Task{Usable: true, Task: task.Task{
		ID: id, Name: name, Handler: handler, Cron: "*/10 * * * *", Timezone: "Asia/Shanghai", Enabled: true, Revision: 3,
		Settings: task.Settings{
			Lane: "normal", Scope: "active", Timeout: 5 * time.Minute, RetryMax: 5, RetryBase: 10 * time.Second,
			Overlap: task.OverlapSkip, CatchUp: task.CatchUpLatest, CatchUpWindow: 24 * time.Hour,
			CatchUpOrder: task.OldestFirst, Concurrency: task.Parallel,
			ExclusiveOver: task.OverLane, ExclusiveMax: time.Minute, ExclusiveDrain: time.Minute,
		},
	}}
	t.Media, _, _ = strings.Cut(handler, ".")
	if params != "" {
		t.Params = json.RawMessage(params)
	}
	return t
}

func daily() producer.Task {
	return good(1, "tulip.report_daily.account", "tulip.report_daily", `{"level":"account","days":1}`)
}

// account adds an account and returns its id.
func (b *bench) account(platform, externalID, tier, zone, parked string) int64 {
	b.t.Helper()
	db := b.store.Config.Writer(b.t.Context())
	err := db.Exec(
		"INSERT INTO media_account (media, external_id, name, token_id, tier, timezone, parked) VALUES (?, ?, ?, 1, ?, ?, ?)",
		platform, externalID, "account "+externalID, tier, zone, parked).Error
	require.NoError(b.t, err)
	found, err := b.store.FindAccounts(b.t.Context(), platform, []string{externalID})
	require.NoError(b.t, err)
	return found[externalID].ID
}

// count counts rows of a table.
func (b *bench) count(db *sqldb.DB, table string) int {
	b.t.Helper()
	var n int
	require.NoError(b.t, db.Writer(b.t.Context()).Raw("SELECT COUNT(*) FROM "+table).Row().Scan(&n))
	return n
}

// audit returns the entries of the audit log, the oldest first.
func (b *bench) audit() []settings.Audit {
	b.t.Helper()
	all, err := b.store.ListAudit(b.t.Context(), settings.AuditFilter{Limit: 1000})
	require.NoError(b.t, err)
	slices.Reverse(all)
	return all
}

// auditText returns a line for each entry of the audit log.
func (b *bench) auditText() []string {
	b.t.Helper()
	var lines []string
	for _, e := range b.audit() {
		lines = append(lines,
			strings.TrimSpace(strings.Join([]string{e.Actor, e.Action, e.Object, e.Before, ">", e.After, e.Error}, " ")))
	}
	return lines
}

// call sends a request, and checks its answer against the description of the API.
func (b *bench) call(method, path, body, token string) *httptest.ResponseRecorder {
	b.t.Helper()
	w, fault := b.send(method, path, body, token)
	require.Empty(b.t, fault)
	return w
}

// send is call for a test that reports the fault itself.
func (b *bench) send(method, path, body, token string) (w *httptest.ResponseRecorder, fault string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w = httptest.NewRecorder()
	b.server.Handler().ServeHTTP(w, r)
	return w, checkAnswer(method, path, w)
}

// get calls a route as a viewer and returns the answer, whose status must be 200.
func (b *bench) get(path string) string {
	b.t.Helper()
	w := b.call(http.MethodGet, path, "", viewerToken)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// post calls a route as an operator.
func (b *bench) post(path, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.call(http.MethodPost, path, body, operatorToken)
}

// problem reads an answer that must be a problem.
func (b *bench) problem(w *httptest.ResponseRecorder) httpapi.Problem {
	b.t.Helper()
	require.Equal(b.t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	var p httpapi.Problem
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &p))
	return p
}

// refused calls a route as an admin. The route must refuse the request; refused returns the fields that it names.
func (b *bench) refused(method, path, body string) []httpapi.FieldError {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
	return b.problem(w).Errors
}

func TestRoutes_ViewersReadAndOperatorsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, daily())
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.producer.reload = b.producer.Tasks // unreached
	for _, path := range []string{"/api/v1/tasks/reload", "/api/v1/tasks/tulip.report_daily.account/run"} {
		w := b.call(http.MethodPost, path, "{}", viewerToken)
		require.Equal(t, http.StatusForbidden, w.Code, path)
		require.Equal(t, http.StatusUnauthorized, b.call(http.MethodPost, path, "{}", "").Code, path)
	}
	for _, path := range []string{
		"/api/v1/tasks", "/api/v1/tasks/tulip.report_daily.account", "/api/v1/runs", "/api/v1/accounts/tulip/9001/coverage",
	} {
		b.get(path)
		require.Equal(t, http.StatusUnauthorized, b.call(http.MethodGet, path, "", "").Code, path)
	}
	require.Zero(t, b.count(b.store.Config, "audit_log"))
	require.Zero(t, b.count(b.store.Data, "manual_order"))
}
