package overview_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/roster"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

// living is a list of live consumers.
type living []roster.Process

func (l living) List(context.Context) ([]roster.Process, error) { return l, nil }

type gone struct{}

func (gone) List(context.Context) ([]roster.Process, error) {
	return nil, errors.New("redis: no answer")
}

// accountID returns our id of an account of tulip.
func accountID(t *testing.T, s *store.Store, external string) int64 {
	t.Helper()
	found, err := s.FindAccounts(t.Context(), "tulip", []string{external})
	require.NoError(t, err)
	require.Contains(t, found, external)
	return found[external].ID
}

func TestRead_NamesSlowEndpointsAndTheirAccounts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	one, two := strconv.FormatInt(accountID(t, s, "20000001"), 10), strconv.FormatInt(accountID(t, s, "20000002"), 10)
	o := options(s)
	pool := func(lane string, running, capacity int) roster.Pool {
		return roster.Pool{Media: "tulip", Lane: lane, Running: running, Capacity: capacity}
	}
	o.Consumers = living{
		{ID: "a", Pools: []roster.Pool{pool("important", 2, 64), pool("normal", 30, 32)},
			Slow: []roster.Slow{{Media: "tulip", Endpoint: "funds/get", Calls: 10, Slow: 1, Seconds: 12,
				Accounts: []string{one}}}},
		{ID: "b", Pools: []roster.Pool{pool("normal", 32, 32)},
			Slow: []roster.Slow{{Media: "tulip", Endpoint: "funds/get", Calls: 6, Slow: 3, Seconds: 8,
				Accounts: []string{one, two}}}},
	}
	a, ok := kinds(overview.NewReader(o).Read(t.Context()))["slow"]
	require.True(t, ok)
	require.Equal(t, "Calls of funds/get are slow", a.Title)
	require.Equal(t,
		"4 of 16 calls of the last minutes took 9.0 s on average. Each holds a slot of its lane meanwhile; the lane "+
			"normal uses 62 of its 64 slots.", a.Cause)
	require.EqualValues(t, 2, a.Accounts)
	require.Equal(t, cny(1+2), a.Money)

	o.Consumers = gone{}
	read := overview.NewReader(o).Read(t.Context())
	require.Contains(t, read.Troubles, client.Trouble{What: "consumers", Why: "redis: no answer"})
	require.False(t, read.At.IsZero())
}

func TestRead_NamesWhyTheSummariesAreNotBuilt(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	o := options(s)
	summary := producer.Task{Usable: true, Task: task.Task{ID: 1, Name: "system.summary", Media: "system",
		Handler: "system.summary", Enabled: true}}
	o.Tasks = func() []producer.Task { return []producer.Task{summary} }
	a := kinds(overview.NewReader(o).Read(t.Context()))["summary"]
	require.Equal(t, "Figures of 2026-11-21 were pulled and wait for system.summary.", a.Cause)
	require.Equal(t, "adsync tasks run system.summary --all --wait", a.Command)

	summary.Enabled = false
	a = kinds(overview.NewReader(o).Read(t.Context()))["summary"]
	require.Contains(t, a.Cause, "It is switched off")
	require.Equal(t, "adsync tasks enable system.summary", a.Command)

	summary.Enabled = true
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET dirty = ? WHERE dirty > 0",
		at(t, s).UnixMicro()).Error)
	require.NotContains(t, kinds(overview.NewReader(o).Read(t.Context())), "summary", "they were pulled a moment ago")
	summary.Enabled = false
	require.Contains(t, kinds(overview.NewReader(o).Read(t.Context())), "summary", "no task builds them")
}

func TestRead_CountsAnAccountOfTwoItemsOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	before := overview.NewReader(options(s)).Read(t.Context())
	require.Contains(t, before.Stakes, overview.Stake{Kind: "summary", Media: "tulip", Accounts: 2, Money: cny(1 + 2)})
	id := accountID(t, s, "20000001")
	require.NoError(t, s.Data.Writer(t.Context()).Exec(
		"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note)"+
			" VALUES (?, 'report_daily', 'account', ?, 'tulip', ?, 'complete', '', '')", id, overviewtest.Today,
		sqldb.At(at(t, s))).Error)
	require.NoError(t, s.Data.Writer(t.Context()).Exec(
		"UPDATE coverage SET state = 'suspect' WHERE account_id = ? AND level = 'account' AND day = ?", id,
		overviewtest.Today).Error)
	o := overview.NewReader(options(s)).Read(t.Context())
	items := 0
	for _, a := range o.Attention {
		if a.Kind == "suspect" && a.Media == "tulip" {
			items++
		}
	}
	require.Equal(t, 2, items)
	require.Contains(t, o.Stakes, overview.Stake{Kind: "suspect", Media: "tulip", Accounts: 1, Money: cny(1)})
}

func TestRead_CountsWhatExpiredInRunsThatDidNotSucceed(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET failed = 0, expired = 1, error_text = '' "+
		"WHERE media = 'tulip' AND state IN ('failed', 'partial')").Error)
	a := kinds(overview.NewReader(options(s)).Read(t.Context()))["run"]
	require.Equal(t, "In runs of tulip.adgroup.changes (1), tulip.creative.full (1): 2 subtasks expired.", a.Cause)
	const list = "adsync runs list --media tulip --state failed,partial --since 2026-11-21T09:30:00Z"
	require.Equal(t, list, a.Command, "no subtask of them is dead")
	require.NotContains(t, a.Remedy, "dead")

	// Runs with subtasks that failed for good, and then only one run.
	data := s.Data.Writer(t.Context())
	require.NoError(t, data.Exec("UPDATE run SET failed = 3 WHERE media = 'tulip' AND state = 'partial'").Error)
	a = kinds(overview.NewReader(options(s)).Read(t.Context()))["run"]
	require.Equal(t, list, a.Command, "the platform's dead subtasks are those of other runs too")
	require.Contains(t, a.Remedy, "adsync dead list --run ID")
	require.NoError(t, data.Exec("UPDATE run SET state = 'succeeded' WHERE media = 'tulip' AND state = 'failed'").Error)
	a = kinds(overview.NewReader(options(s)).Read(t.Context()))["run"]
	var id int64
	require.NoError(t, data.Raw("SELECT id FROM run WHERE media = 'tulip' AND state = 'partial'").Row().Scan(&id))
	require.Equal(t, fmt.Sprint("adsync dead list --run ", id), a.Command)
	require.NoError(t, data.Exec("UPDATE run SET failed = 0 WHERE id = ?", id).Error)
	require.Equal(t, fmt.Sprint("adsync runs show ", id),
		kinds(overview.NewReader(options(s)).Read(t.Context()))["run"].Command)
}

// Figures that were never pulled yet are not late, and do not count as fresh either.
func TestRead_ReportsTheProgressOfTheFirstPull(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	exec := func(db *sqldb.DB, statement string, args ...any) {
		t.Helper()
		require.NoError(t, db.Writer(t.Context()).Exec(statement, args...).Error)
	}
	exec(s.Config, "UPDATE media_account SET updated_at = ?", sqldb.At(at(t, s)))
	o := overview.NewReader(options(s)).Read(t.Context())
	require.Equal(t, []any{true, int64(overviewtest.Fresh), int64(overviewtest.Late - 1), int64(1)},
		[]any{o.Media[0].FirstPull, o.Media[0].Fresh, o.Media[0].Late, o.Media[0].New})
	require.Equal(t, "First pull under way, 7 of 8 accounts", o.FirstPull())
	require.EqualValues(t, 1, kinds(o)["late"].Accounts,
		"an account with old figures is late, also if its row has just changed")

	// Nothing was pulled yet.
	exec(s.Data, "DELETE FROM coverage")
	exec(s.Data, "DELETE FROM summary_hourly")
	o = overview.NewReader(options(s)).Read(t.Context())
	require.Equal(t, "First pull under way, 0 of 12 accounts", o.FirstPull())
	require.NotContains(t, kinds(o), "late")

	// All was pulled, and the summaries are not built yet.
	exec(s.Data, "INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note, dirty)"+
		" VALUES (?, 'report_hourly', 'account', ?, 'tulip', ?, 'complete', '', '', ?)", accountID(t, s, "20000001"),
		overviewtest.Today, sqldb.At(at(t, s)), at(t, s).UnixMicro())
	exec(s.Config, "UPDATE media_account SET tier = 'inactive' WHERE external_id <> '20000001'")
	exec(s.Data, "DELETE FROM summary_daily")
	o = overview.NewReader(options(s)).Read(t.Context())
	require.Equal(t, "First pull under way, 1 of 1 account", o.FirstPull())
	// A summary that was built when only accounts without spend had come.
	exec(s.Data,
		"INSERT INTO summary_hourly (day, hour, game, media, os, currency, day_zone, start_utc, cost, version, updated_at) "+
			"VALUES (?, 3, '', 'tulip', '', 'CNY', 'Asia/Shanghai', ?, 0, 1, ?)",
		overviewtest.Today, sqldb.At(overviewtest.Now), sqldb.At(overviewtest.Now))
	o = overview.NewReader(options(s)).Read(t.Context())
	require.Len(t, o.Media[0].Spend, 1)
	require.Equal(t, "First pull under way, 1 of 1 account", o.FirstPull())
	exec(s.Data, "UPDATE coverage SET dirty = NULL")
	o = overview.NewReader(options(s)).Read(t.Context())
	require.Empty(t, o.FirstPull(), "the account has spent nothing")

	// An account that was bound long ago is late.
	exec(s.Data, "DELETE FROM coverage")
	exec(s.Config, "UPDATE media_account SET updated_at = ?", sqldb.At(at(t, s).Add(-time.Hour)))
	o = overview.NewReader(options(s)).Read(t.Context())
	require.Empty(t, o.FirstPull())
	exec(s.Data, "DELETE FROM run")
	exec(s.Data, "DELETE FROM subtask_due")
	reader := options(s)
	reader.Tasks = func() []producer.Task {
		return []producer.Task{{Usable: true, Task: task.Task{Name: "hours", Media: "tulip", Handler: "tulip.report_hourly",
			Enabled: true, Cron: "*/2 * * * *", Timezone: "UTC",
			Settings: task.Settings{Scope: "all", Params: []byte(`{"level":"account"}`)}}}}
	}
	require.Equal(t, "adsync coverage tulip/20000001",
		kinds(overview.NewReader(reader).Read(t.Context()))["late"].Command)
}

func TestRead_ALostLoginWithoutAccountsIsANote(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	require.NotContains(t, kinds(overview.NewReader(options(s)).Read(t.Context())), "login_unneeded")
	require.NoError(t, s.Config.Writer(t.Context()).Exec(
		"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
			"refresh_expires_at, state) VALUES (99, 'tulip', 'a', 'old', '', '', '2026-01-01 00:00:00.000', "+
			"'2026-01-01 00:00:00.000', 'reauthorise')").Error)
	a, ok := kinds(overview.NewReader(options(s)).Read(t.Context()))["login_unneeded"]
	require.True(t, ok)
	require.Equal(t, []any{overview.Note, int64(0), "The login old has lost its authorisation, and no account needs it"},
		[]any{a.Severity, a.Accounts, a.Title})
}

func TestRead_NamesBindingsToUnknownGames(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	require.NotContains(t, kinds(overview.NewReader(options(s)).Read(t.Context())), "unknown_game")
	id := accountID(t, s, "20000001")
	require.NoError(t, s.Config.Writer(t.Context()).Exec("DELETE FROM account_binding WHERE account_id = ?", id).Error)
	require.NoError(t, s.Config.Writer(t.Context()).Exec(
		"INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, '2026-01-01', '9999-12-31', "+
			"'starfal', 'ios')", id).Error)
	a, ok := kinds(overview.NewReader(options(s)).Read(t.Context()))["unknown_game"]
	require.True(t, ok)
	require.Equal(t, []any{int64(1), cny(1), []string{"tulip/20000001"},
		"adsync bind account tulip/ID --game GAME --os OS --correct"}, []any{a.Accounts, a.Money, a.Examples, a.Command})
	require.Equal(t, "Rows of account_binding name starfal, which the table game lacks.", a.Cause)
}

func at(t *testing.T, s *store.Store) time.Time {
	t.Helper()
	now, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	return now
}
