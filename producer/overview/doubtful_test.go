package overview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

func doubt(t *testing.T, s *store.Store, report, level string, d day.Day, state results.CoverageState,
	ago time.Duration) {
	t.Helper()
	require.NoError(t, s.Data.Writer(t.Context()).Exec(
		"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note)"+
			" VALUES (?, ?, ?, ?, 'tulip', ?, ?, '', 'it lacks 3 rows')", accountID(t, s, "20000001"), report, level, d,
		sqldb.At(at(t, s).Add(-ago)), state).Error)
}

func doubtfulItems(o overview.Overview) map[string][]any {
	items := map[string][]any{}
	for _, a := range o.Attention {
		if (a.Kind == "suspect" || a.Kind == "partial") && a.Media == "tulip" {
			items[a.Title] = []any{a.Severity, a.Accounts, a.Cause, a.Command}
		}
	}
	return items
}

// The subtasks that pulled these days are long dead, or dropped: only coverage still has them.
func TestRead_NamesDaysOfAnyAgeThatAreNotWhole(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	today, week := overviewtest.Today, 7*24*time.Hour
	doubt(t, s, "report_daily", "account", today.Add(-3), results.Suspect, 3*24*time.Hour)
	doubt(t, s, "report_hourly", "adgroup", today.Add(-40), results.Suspect, 5*week)
	doubt(t, s, "report_hourly", "adgroup", today.Add(-38), results.Suspect, 5*week)
	doubt(t, s, "adgroup", "adgroup", day.Epoch, results.Suspect, week)
	doubt(t, s, "fund_daily", "account", today.Add(-9), results.Suspect, week)
	doubt(t, s, "report_daily", "creative", today.Add(-200), results.Partial, 20*week)
	doubt(t, s, "report_daily", "adgroup", today, results.Partial, time.Minute)
	doubt(t, s, "fund_daily", "account", today.Add(-1), results.Partial, 2*time.Hour)
	options := options(s)
	options.Tasks = func() []producer.Task {
		return []producer.Task{
			{Usable: true, Task: task.Task{ID: 1, Name: "my days", Handler: "tulip.report_daily",
				Settings: task.Settings{Params: []byte(`{"level":"creative","days":30}`)}}},
			{Usable: true, Task: task.Task{ID: 2, Name: "changes", Handler: "tulip.adgroup",
				Settings: task.Settings{Params: []byte(`{"mode":"changes"}`)}}},
		}
	}
	o := overview.NewReader(options).Read(t.Context())
	require.Equal(t, map[string][]any{
		"An answer for 2026-11-18 was not believed": {
			overview.Warn, int64(1), "It lacks 3 rows.",
			"adsync tasks run tulip.report_daily.account --accounts ID --from 2026-11-18 --to 2026-11-18 --confirm"},
		"An answer for 2 days from 2026-10-12 to 2026-10-14 by adgroup was not believed": {
			overview.Warn, int64(1), "It lacks 3 rows.",
			"adsync tasks run tulip.report_hourly.adgroup --accounts ID --from 2026-10-12 --to 2026-10-14 --confirm"},
		"An answer for the list adgroup was not believed": {overview.Warn, int64(1), "It lacks 3 rows.",
			"adsync tasks run tulip.adgroup.full --accounts ID --confirm"},
		"An answer for 2026-11-12 was not believed": {overview.Warn, int64(1), "It lacks 3 rows.",
			"adsync tasks run tulip.fund_daily --accounts ID --from 2026-11-12 --to 2026-11-12 --confirm"},
		"The pull of 2026-05-05 by creative was not whole": {
			overview.Warn, int64(1), "It lacks 3 rows.",
			"adsync tasks run 'my days' --accounts ID --from 2026-05-05 --to 2026-05-05"},
		"The pull of 2026-11-20 was not whole": {overview.Note, int64(1), "It lacks 3 rows.",
			"adsync tasks run tulip.fund_daily --accounts ID --from 2026-11-20 --to 2026-11-20"},
	}, doubtfulItems(o))
	require.Contains(t, o.Stakes, overview.Stake{Kind: "suspect", Media: "tulip", Accounts: 1, Money: cny(1)},
		"alerts count the account once")
}

func TestRead_CountsValuesThatCannotBeUsedByField(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	data, since := s.Data.Writer(t.Context()), sqldb.At(at(t, s))
	for i, kind := range []rawtable.FaultKind{rawtable.AttributeFault, rawtable.FigureFault, rawtable.KeyFault,
		rawtable.FutureFault} {
		require.NoError(t, data.Exec(
			"INSERT INTO unusable_value (account_id, report, level, day, field, kind, media, number, why, seen_at) VALUES "+
				"(1, 'adgroup', 'adgroup', '1970-01-01', ?, ?, 'tulip', ?, 'is odd', ?)",
			"field_"+string(kind), string(kind), i+1, since).Error)
	}
	require.NoError(t, data.Exec(
		"INSERT INTO partner_unusable (partner_id, field, kind, media, row_count, why, seen_at) VALUES (7, 'new_users', "+
			"'figure', 'tulip', 1, 'is odd', ?)", since).Error)
	var titles []string
	for _, a := range overview.NewReader(options(s)).Read(t.Context()).Attention {
		if a.Kind == "unusable" {
			titles = append(titles, a.Severity+": "+a.Title)
			require.Equal(t, a.Title == "1 value of partner_daily.new_users cannot be used", a.Command == "", a.Title)
		}
	}
	require.ElementsMatch(t, []string{
		"warn: 3 values of adgroup.field_key cannot be used", "warn: 2 values of adgroup.field_figure cannot be used",
		"note: 4 values of adgroup.field_future cannot be used",
		"note: 1 value of adgroup.field_attribute cannot be used", "warn: 1 value of partner_daily.new_users cannot be used",
	}, titles)
}

func TestRead_HealedSubtasksAreNotesWithoutMoney(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	require.EqualValues(t, 2, kinds(overview.NewReader(options(s)).Read(t.Context()))["dead"].Accounts)
	var accounts []int64
	require.NoError(t, s.Data.Writer(t.Context()).Raw(
		"SELECT account_id FROM subtask_dead ORDER BY account_id").Scan(&accounts).Error)
	require.NoError(t, s.Config.Writer(t.Context()).Exec(
		"INSERT INTO cron_task (id, name, media, handler, cron, params) VALUES (5, 'creatives', 'tulip', "+
			"'tulip.report_daily', '* * * * *', '{\"level\":\"creative\"}')").Error)
	heal := func(account int64) map[string]client.Attention {
		now := at(t, s)
		require.NoError(t, s.Data.Writer(t.Context()).Exec(
			"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, complete_version, state) VALUES (?, "+
				"'report_daily', 'creative', '2026-11-21', 'tulip', ?, ?, 'complete')",
			account, sqldb.At(now), now.UnixMicro()).Error)
		return kinds(overview.NewReader(options(s)).Read(t.Context()))
	}
	found := heal(accounts[0])
	require.EqualValues(t, 1, found["dead"].Accounts)
	require.Equal(t, []any{overview.Note, int64(1), []client.Money(nil), "1 subtask that failed for good has healed"},
		[]any{found["healed"].Severity, found["healed"].Accounts, found["healed"].Money, found["healed"].Title})
	found = heal(accounts[1])
	require.NotContains(t, found, "dead")
	require.EqualValues(t, 2, found["healed"].Accounts)
}
