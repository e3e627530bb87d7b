package account_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/media/account"
	"adsync/media/mediatest/invented"
)

// seed writes the tasks of an installation, one of them disabled.
func (l *life) seed() {
	l.t.Helper()
	task := func(name, handler, lane, scope, params string) settings.NewTask {
		return settings.NewTask{Name: name, Media: "tulip", Handler: "tulip." + handler, Cron: "@daily", Lane: lane,
			Scope: scope, Params: params}
	}
	_, err := l.store.SeedTasks(l.t.Context(), []settings.NewTask{
		task("changes", "adgroup", "normal", "active", `{"mode":"changes"}`),
		task("full", "adgroup", "offline", "all", `{"mode":"full"}`),
		task("today", "report_daily", "important", "active", `{"level":"account"}`),
		task("look_back", "report_daily", "offline", "active,inactive", `{"level":"account","days":7}`),
		task("hours", "report_hourly", "normal", "active", `{"level":"account"}`),
		task("mature", "report_daily", "offline", "active,inactive", `{"level":"adgroup","days":30,"skip":7}`),
		task("off", "report_hourly", "offline", "all", `{"level":"adgroup"}`),
	})
	require.NoError(l.t, err)
	l.exec(l.store.Config, "UPDATE cron_task SET enabled = 0 WHERE name = 'off'")
}

func (l *life) initialise(params string) int {
	l.t.Helper()
	return l.run(account.InitialiseHandler(account.InitialiseOptions{
		Platform: invented.New(), Store: l.store, Clock: l.clock(), Logger: slog.New(slog.DiscardHandler),
	}), params)
}

// order holds the fields of an order that tests compare.
type order struct {
	From, To day.Day
	Accounts []int64
}

// orders returns all orders, by task.
func (l *life) orders() map[string][]order {
	l.t.Helper()
	open, err := l.store.OpenOrders(l.t.Context(), 100)
	require.NoError(l.t, err)
	var names []struct {
		ID   int64
		Name string
	}
	require.NoError(l.t, l.store.Config.Writer(l.t.Context()).Raw("SELECT id, name FROM cron_task").Scan(&names).Error)
	all := map[string][]order{}
	for _, o := range open {
		require.NoError(l.t, o.Malformed)
		require.Equal(l.t, "tulip.initialise", o.Request.By)
		for _, n := range names {
			if n.ID == o.TaskID {
				all[n.Name] = append(all[n.Name], order{o.Request.From, o.Request.To, o.Request.Accounts})
			}
		}
	}
	return all
}

// present records that an account's present day was pulled whole.
func (l *life) present(id int64, d day.Day) {
	l.t.Helper()
	for _, report := range []string{"report_daily", "report_hourly"} {
		l.whole(id, report, "account", d)
	}
}

// end writes a run in a state for each order.
func (l *life) end(state string) {
	l.t.Helper()
	open, err := l.store.OpenOrders(l.t.Context(), 100)
	require.NoError(l.t, err)
	for _, o := range open {
		l.exec(l.store.Data,
			"INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, "+
				"epoch, created_at)"+
				" VALUES (?, ?, 'x', 'tulip', 'x', 'offline', 1, '{}', 'order', ?, ?, 1, ?)", o.RunID, o.TaskID,
			sqldb.At(o.OrderedAt), state, sqldb.At(o.OrderedAt))
	}
}

func (l *life) initialised(id int64) bool {
	l.t.Helper()
	var at sqldb.Time
	require.NoError(l.t, l.store.Config.Writer(l.t.Context()).Raw("SELECT initialised_at FROM media_account WHERE id = ?",
		id).Row().Scan(&at))
	return !at.IsZero()
}

func TestInitialise_OrdersThePastOnceThePresentDayIsPulled(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	l.seed()
	id, other := l.account("1", china), l.account("2", china)
	frozen := l.account("3", china)
	l.exec(l.store.Config, "UPDATE media_account SET parked = 'x' WHERE id = ?", frozen)
	l.present(frozen, "2026-11-21")
	l.whole(id, "report_daily", "account", "2026-11-21")
	l.present(other, "2026-11-20")
	require.Zero(t, l.initialise(""), "one account lacks hours, the other has only yesterday")
	require.Empty(t, l.orders())

	l.whole(id, "report_hourly", "account", "2026-11-21")
	require.Equal(t, 1, l.initialise(""))
	month := []order{{From: "2026-10-22", To: "2026-11-20", Accounts: []int64{id}}}
	want := map[string][]order{"full": {{Accounts: []int64{id}}}, "look_back": month, "hours": month, "mature": month}
	require.Equal(t, want, l.orders(), "the whole configuration, and thirty days of what the enabled tasks pull")

	// Days later the orders are the same, and nothing is ordered twice.
	l.at = l.at.Add(50 * time.Hour)
	require.Zero(t, l.initialise(""))
	require.Equal(t, want, l.orders())
	require.False(t, l.initialised(id))

	l.end("running")
	require.Zero(t, l.initialise(""))
	require.False(t, l.initialised(id))
	l.exec(l.store.Data, "UPDATE run SET state = 'succeeded'")
	l.exec(l.store.Data,
		"UPDATE run SET state = 'partial' WHERE id = (SELECT low FROM (SELECT MIN(id) AS low FROM run) AS x)")
	require.Equal(t, 1, l.initialise(""), "missing days are ordinary holes from now on")
	require.True(t, l.initialised(id))
	require.False(t, l.initialised(other))
	require.False(t, l.initialised(frozen))
	require.Zero(t, l.initialise(""))
	require.Equal(t, want, l.orders())
}

func TestInitialise_ResumesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	l.seed()
	east, west := l.account("1", "Pacific/Auckland"), l.account("2", "America/Los_Angeles")
	// The process died after it recorded the start. In Auckland it was the 22nd.
	at := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	require.NoError(t, l.store.StartInitialising(t.Context(), []int64{east, west}, at))
	require.NoError(t, l.store.StartInitialising(t.Context(), []int64{east}, at.Add(time.Hour)), "the first start stays")
	l.at = at.Add(30 * time.Hour)
	require.Zero(t, l.initialise(`{"days":3}`))
	got := l.orders()
	require.ElementsMatch(t, []order{
		{From: "2026-11-19", To: "2026-11-21", Accounts: []int64{east}},
		{From: "2026-11-18", To: "2026-11-20", Accounts: []int64{west}},
	}, got["look_back"], "each zone's days before the start")
	require.Len(t, got["full"], 2)
	l.end("failed")
	require.Equal(t, 2, l.initialise(`{"days":5}`))
	require.Equal(t, got, l.orders(), "other params order nothing for accounts under way")
}

func TestInitialise_LeavesOldAccountsAlone(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	l.seed()
	// A row as it is after the migration, or as written by hand.
	l.exec(l.store.Config, "INSERT INTO media_account (id, media, external_id, token_id) VALUES (7, 'tulip', '7', ?)",
		l.login)
	l.present(7, "2026-11-21")
	require.Zero(t, l.initialise(""))
	require.Empty(t, l.orders())

	id := l.account("1", china)
	accounts, err := l.store.FillAccounts(t.Context(), "tulip", 0, 9)
	require.NoError(t, err)
	require.Len(t, accounts, 1, "missing days of a new account are not holes during its initialisation")
	l.exec(l.store.Config, "UPDATE media_account SET created_at = ? WHERE id = ?", sqldb.At(time.Now().Add(-49*time.Hour)),
		id)
	accounts, err = l.store.FillAccounts(t.Context(), "tulip", 0, 9)
	require.NoError(t, err)
	require.Len(t, accounts, 2, "but only for a limited time")
}

func TestInitialise_RefusesInvalidParams(t *testing.T) {
	t.Parallel()
	h := account.InitialiseHandler(account.InitialiseOptions{Platform: invented.New()})
	require.EqualError(t, h.Check(json.RawMessage(`{"days":0}`)), "params.days: 0 is refused: want 1 to 365")
	require.EqualError(t, h.Check(json.RawMessage(`{"days":366}`)), "params.days: 366 is refused: want 1 to 365")
}
