package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
)

func TestLimits_ShowTheirUseAndThePauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.rules.Set([]grant.Rule{
		{Media: "tulip", Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Minute, Limit: 600, LimitMax: 900,
			Share: 0.5},
		{Media: "tulip", Endpoint: "*", Scope: grant.ScopeApp, Period: 10 * time.Second, Limit: 40_000, Unit: grant.UnitRows},
		{Media: "tulip", Endpoint: "*", Each: true, Scope: grant.ScopeAccount, Period: time.Minute, Limit: 600},
		{Media: "tulip", Endpoint: "*", Scope: grant.ScopePlatform, Period: 24 * time.Hour, Limit: 100_000},
	}))
	call := grant.Call{Media: "tulip", Endpoint: "daily_reports/get", App: "1{:}", Account: "9", Rows: "of ads"}
	for range 3 {
		_, err := b.waiter.Wait(ratelimit.WithImportance(t.Context(), 30), call)
		require.NoError(t, err)
	}
	require.NoError(t, b.waiter.Pause(t.Context(), call, grant.ScopeApp, time.Hour))

	var got struct {
		Limits []struct {
			Media, Endpoint, Scope, Subject, Period string
			Unit                                    string
			Calls, Window                           int
			CallsMax                                int `json:"calls_max"`
			Share, Part, Full                       float64
			LastMinute                              int `json:"last_minute"`
			LastHour                                int `json:"last_hour"`
			Lanes                                   []struct {
				Importance, Processes, Wanted int
				PerSecond                     float64 `json:"share_per_second"`
			}
		}
		Pauses []struct {
			Media, Endpoint, Scope, Subject string
			PausedUntil                     time.Time `json:"paused_until"`
			Times                           int
		}
	}
	decode(t, b.get("/api/v1/limits"), &got)
	require.Len(t, got.Limits, 3, "limits of single accounts are left out")
	all, app, rows := got.Limits[0], got.Limits[1], got.Limits[2]
	require.Equal(t, []any{"of ads", "rows", 40_000, 0}, []any{rows.Endpoint, rows.Unit, rows.Calls, rows.CallsMax})
	require.LessOrEqual(t, rows.Window, 12_000,
		"three calls of an estimated three thousand rows each, some of which have left the window")
	require.Equal(t, []any{"calls", 900}, []any{app.Unit, app.CallsMax})
	require.Equal(t, []any{"*", "platform", "", "24h0m0s", 100_000, 3, 3},
		[]any{all.Endpoint, all.Scope, all.Subject, all.Period, all.Calls, all.Window, all.LastHour})
	require.Equal(t, []any{"daily_reports/get", "app", "1{:}", "1m0s", 600, 0.5, 3, 3, 3},
		[]any{app.Endpoint, app.Scope, app.Subject, app.Period, app.Calls, app.Share, app.Window, app.LastMinute,
			app.LastHour})
	require.InDelta(t, 0.9, app.Part, 1e-3, "it was refused once")
	require.InDelta(t, 3/270., app.Full, 1e-4)
	require.Len(t, app.Lanes, 1)
	require.Equal(t, []int{30, 1}, []int{app.Lanes[0].Importance, app.Lanes[0].Processes})
	require.Positive(t, app.Lanes[0].PerSecond)
	require.Len(t, got.Pauses, 1)
	require.Equal(t, []any{"daily_reports/get", "app", "1{:}", 1},
		[]any{got.Pauses[0].Endpoint, got.Pauses[0].Scope, got.Pauses[0].Subject, got.Pauses[0].Times})
	require.False(t, got.Pauses[0].PausedUntil.IsZero())

	decode(t, b.get("/api/v1/limits?media=orchid"), &got)
	require.Empty(t, got.Limits)
	require.Equal(t, "media", b.refused(http.MethodGet, "/api/v1/limits?media=myspace", "")[0].Field)
}

func TestWait_ExplainsWhyASubtaskWaitsAndUntilWhen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t,
		b.rules.Set([]grant.Rule{{Media: "tulip", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 600}}))
	runID := task.NewRunID(now)
	b.addRun(ledger.Run{
		ID: runID, TaskID: 1, TaskName: "tulip.report_daily.account", Media: "tulip", Kind: ledger.RunOfTick,
		State: task.RunRunning, PlannedAt: now, CreatedAt: now,
		Settings: task.Settings{Lane: settings.LaneImportant},
	})
	require.NoError(t, b.store.EnsureLogTable(t.Context(), task.LogDay(runID)))
	for account, state := range map[int64]task.State{7: task.Waiting, 8: task.Succeeded} {
		err := b.store.Data.Writer(t.Context()).Exec("INSERT INTO "+ledger.LogTable(runID)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, ?, 'd', ?, 1, 0, ?)",
			runID, account, state, sqldb.At(now)).Error
		require.NoError(t, err)
	}
	type wait struct {
		Task, Media, Lane, State, Reason string
		Importance                       int
		ExpectedAt                       time.Time `json:"expected_at"`
		Limits                           []struct{ Endpoint string }
	}
	of := func(account string) (w wait) {
		decode(t, b.get("/api/v1/subtasks/"+id(runID)+"/"+account+"/wait?part=d"), &w)
		return w
	}
	call := grant.Call{Media: "tulip", Endpoint: "daily_reports/get", App: "1"}
	// The limits show a process's demand for three seconds.
	_, err := b.waiter.Wait(ratelimit.WithImportance(t.Context(), 30), call)
	require.NoError(t, err)
	w := of("7")
	require.Equal(t, wait{
		Task: "tulip.report_daily.account", Media: "tulip", Lane: "important", State: "waiting", Importance: 30,
		Limits: []struct{ Endpoint string }{{"*"}},
	}, w)

	_, err = b.store.ApplyOutcomes(t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: runID, AccountID: 7, Part: "d"}, Media: "tulip", Lane: "important", TaskID: 1, Delivery: 1,
		State:  task.Deferred,
		Reason: "the limit of the app", DueAt: now.Add(time.Minute), StartedAt: now, EndedAt: now,
	}})
	require.NoError(t, err)
	w = of("7")
	require.Equal(t, []any{"deferred", "the limit of the app", now.Add(time.Minute)},
		[]any{w.State, w.Reason, w.ExpectedAt})

	// The lists have our ids, so our id is tried before the platform's: here a number is our id of one account and the
	// platform's id of another.
	theirs, ours := b.account("tulip", "9001", "active", "UTC", ""), b.account("tulip", "9002", "active", "UTC", "")
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET external_id = ? WHERE id = ?",
		id(ours), theirs).Error)
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE "+ledger.LogTable(runID)+
		" SET account_id = ? WHERE account_id = 8", ours).Error)
	for _, name := range []string{id(ours), "9002", "tulip%2F9002"} {
		require.Equal(t, "succeeded", of(name).State, name)
	}
	require.Equal(t, "account_id", b.refused(http.MethodGet, "/api/v1/subtasks/"+id(runID)+"/tulip%2F9009/wait?part=d",
		"")[0].Field)

	ended := of(id(ours))
	require.Equal(t, "succeeded", ended.State)
	require.Empty(t, ended.Limits)
	require.Equal(t, "part", b.refused(http.MethodGet, "/api/v1/subtasks/"+id(runID)+"/7/wait", "")[0].Field)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/subtasks/"+id(runID)+"/9/wait?part=d", "",
		viewerToken).Code)
}

// A pause that a platform asked for ends for all processes, and for the calls that wait in this one.
func TestLimits_APauseIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := grant.Call{Media: "tulip", Endpoint: "adgroups/get", App: "17", Account: "9001"}
	require.NoError(t, b.waiter.Pause(t.Context(), call, grant.ScopeApp, time.Hour))
	const path = "/api/v1/limits/end-pause"
	paused := func() (n int) {
		_, pauses, err := b.waiter.State(t.Context(), "tulip")
		require.NoError(t, err)
		for _, p := range pauses {
			if !p.Until.IsZero() {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, paused())
	require.Contains(t, b.post(path, `{"media": "tulip", "dry_run": true}`).Body.String(), `"endpoint":"adgroups/get"`)
	require.Contains(t, b.post(path, `{"media": "tulip", "endpoint": "creatives/get"}`).Body.String(), `"pauses":[]`)
	require.Equal(t, []fieldError{{Field: "scope", Detail: `is missing: want media, or "scope": "all" for all platforms`}},
		b.refused(http.MethodPost, path, `{}`))
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPost, path, `{"media": "tulip"}`, viewerToken).Code)
	require.Equal(t, 1, paused())
	require.Empty(t, b.auditText())

	require.Equal(t, http.StatusOK, b.post(path, `{"media": "tulip", "endpoint": "adgroups/get", "subject": "17"}`).Code)
	require.Zero(t, paused())
	require.Len(t, b.auditText(), 1)
}

// addResting adds a login whose refresh rests after an answer that the platform is over its limit.
func (b *bench) addResting(login string, lasts time.Duration) int64 {
	b.t.Helper()
	in := now.Add(time.Hour)
	row := settings.Token{Media: "tulip", AppID: "17", Login: login, AccessExpires: in,
		RefreshExpires: in.AddDate(0, 1, 0)}
	id, err := b.store.PutLogin(b.t.Context(), row, func(int64) (string, string, error) { return "a", "r", nil })
	require.NoError(b.t, err)
	mine, err := b.store.ClaimRefresh(b.t.Context(), id, 1, "holder", time.Minute)
	require.NoError(b.t, err)
	require.True(b.t, mine)
	require.NoError(b.t, b.store.PostponeRefresh(b.t.Context(), id, "holder", lasts, "over its limit"))
	return id
}

func TestLimits_ARestOfALoginsRefreshIsListedAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addResting("20000001", time.Hour)
	b.addResting("20000002", time.Hour)
	b.addResting("20000003", 0)
	type point struct{ Media, Endpoint, Scope, Subject string }
	type list struct{ Pauses []point }
	listed := func(of string) (points []point) {
		var l list
		decode(t, of, &l)
		return l.Pauses
	}
	first, second := point{"tulip", "token_refresh", "login", "20000001"},
		point{"tulip", "token_refresh", "login", "20000002"}
	require.Equal(t, []point{first, second}, listed(b.get("/api/v1/limits?media=tulip")))

	const path = "/api/v1/limits/end-pause"
	require.Equal(t, []point{first}, listed(b.post(path, `{"subject": "tulip/20000001"}`).Body.String()),
		"the name of the platform is in the subject")
	require.Equal(t, []point{second}, listed(b.get("/api/v1/limits?media=tulip")))
	require.Len(t, b.auditText(), 1)
	require.Equal(t, "subject", b.refused(http.MethodPost, path,
		`{"media": "orchid", "subject": "tulip/20000001"}`)[0].Field)
	require.Equal(t, "subject", b.refused(http.MethodPost, path, `{"scope": "all", "subject": "tulip/20000001"}`)[0].Field)

	require.NoError(t, b.redis.Close())
	require.Equal(t, http.StatusServiceUnavailable, b.post(path, `{"media": "tulip"}`).Code)
	require.Equal(t, []point{second}, listed(b.post(path,
		`{"media": "tulip", "endpoint": "token_refresh"}`).Body.String()), "the rest is not in Redis")
	resting, err := b.store.RestingLogins(t.Context(), "", 10)
	require.NoError(t, err)
	require.Empty(t, resting)
}

// A subtask that was deferred until the end of a pause has only a due time, which ending the pause must change.
func TestLimits_WaitingSubtasksAreDueWhenAPauseIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := task.NewRunID(now)
	due := func(account int, state task.State, media, waitsFor string) {
		err := b.store.Data.Writer(t.Context()).Exec(
			"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, waits_for)"+
				" VALUES (?, ?, 'd', ?, ?, 'important', ?, 1, 0, ?)", runID, account, string(state), media,
			sqldb.At(time.Now().Add(time.Hour)), waitsFor).Error
		require.NoError(t, err)
	}
	due(1, task.Deferred, "tulip", "")
	due(2, task.Retrying, "tulip", "")
	due(3, task.Deferred, "tulip", task.PauseRef(7))
	due(4, task.Deferred, "orchid", "")
	due(5, "sent", "tulip", "")
	woken := b.producer.woken
	dueNow := func() (accounts []int) {
		at, err := b.store.Data.Now(t.Context())
		require.NoError(t, err)
		require.NoError(t,
			b.store.Data.Writer(t.Context()).Raw("SELECT account_id FROM subtask_due WHERE due_at <= ? ORDER BY account_id",
				sqldb.At(at)).Scan(&accounts).Error)
		return accounts
	}
	const path = "/api/v1/limits/end-pause"
	require.Contains(t, b.post(path, `{"media": "tulip", "subject": "17"}`).Body.String(), `"subtasks":0`,
		"the app is not paused")
	require.Contains(t, b.post(path, `{"media": "tulip", "dry_run": true}`).Body.String(), `"subtasks":2`)
	require.Empty(t, dueNow())
	require.Empty(t, b.auditText())

	call := grant.Call{Media: "tulip", Endpoint: "adgroups/get", App: "17", Account: "9001"}
	require.NoError(t, b.waiter.Pause(t.Context(), call, grant.ScopeApp, time.Hour))
	require.Contains(t, b.post(path, `{"media": "tulip", "subject": "17"}`).Body.String(), `"subtasks":1`)
	require.Equal(t, []int{1}, dueNow(), "a failed subtask does not wait for the app's limit")
	require.Contains(t, b.post(path, `{"media": "tulip"}`).Body.String(), `"subtasks":1`)
	require.Equal(t, []int{1, 2}, dueNow())
	require.Len(t, b.auditText(), 2)
	require.Equal(t, woken+2, b.producer.woken)
}

// While Redis does not answer, the problem says when pauses end, and how to end them earlier.
func TestLimits_EndingAPauseWithoutRedisNamesTheRemedy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.redis.Close())
	w := b.post("/api/v1/limits/end-pause", `{"media": "tulip"}`)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	for _, text := range []string{"at most media.pause_max", "make Redis answer again and repeat this order",
		"restart the consumers"} {
		require.Contains(t, w.Body.String(), text)
	}
	require.Empty(t, b.auditText())
}

// readOnly fails the scripts that write, which have more than one key.
type readOnly struct{}

func (readOnly) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (readOnly) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (readOnly) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && fmt.Sprint(cmd.Args()[2]) != "1" {
			err := errors.New("READONLY a replica takes no writes")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func TestLimits_APauseThatDoesNotEndIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := grant.Call{Media: "tulip", Endpoint: "adgroups/get", App: "17", Account: "9001"}
	require.NoError(t, b.waiter.Pause(t.Context(), call, grant.ScopeApp, time.Hour))
	b.redis.AddHook(readOnly{})
	w := b.post("/api/v1/limits/end-pause", `{"media": "tulip"}`)
	require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), "READONLY")
	require.NotEmpty(t, b.audit()[0].Error)
}
