package producer

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/store/summaries"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

// pulled writes an account's figures of some days, as a pull would: by day, and in the hours 9 and 21. They differ from
// day to day and from account to account.
func (b *bench) pulled(account int64, days ...day.Day) {
	b.t.Helper()
	for _, report := range []struct {
		name  string
		raw   rawtable.Table
		hours []int
	}{
		{"report_daily", rawtable.Table{Name: "tulip_report_daily", Shape: rawtable.DailyRows}, []int{0}},
		{"report_hourly", rawtable.Table{Name: "tulip_report_hourly", Shape: rawtable.HourlyRows}, []int{9, 21}},
	} {
		require.NoError(b.t, b.store.EnsureRawTables(b.t.Context(), []rawtable.Table{report.raw}))
		scope := results.Scope{AccountID: account, Media: "tulip", Report: report.name, Level: "account", Days: days}
		claim, _, err := b.store.BeginPull(b.t.Context(), scope, fmt.Sprint(report.name, account), 1)
		require.NoError(b.t, err)
		var rows []results.ReportRow
		for i, d := range days {
			for _, hour := range report.hours {
				row := results.ReportRow{Day: d, Hour: hour, JSON: "{}"}
				row.Metrics.Set(metric.Index("cost"), spent(account, i, hour))
				rows = append(rows, row)
			}
		}
		write := results.ReportWrite{Claim: claim, Raw: report.raw, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows,
			Whole: true, DirtySummary: true, Hourly: report.name == "report_hourly"}
		_, err = b.store.WriteReport(b.t.Context(), write)
		require.NoError(b.t, err)
	}
}

func spent(account int64, i, hour int) int64 {
	return account*1_000_000 + int64(i)*10_000 + int64(hour) + 1
}

// summed is a row of a summary: its day, hour, game and os, and the cost.
type summed struct {
	Day      day.Day
	Hour     int
	Game, OS string
}

// summaries returns the rows of a summary table with their cost.
func (b *bench) summaries(table, hour string) map[summed]int64 {
	b.t.Helper()
	rows, err := b.store.Data.Writer(b.t.Context()).Raw("SELECT day, " + hour + ", game, os, cost FROM " + table).Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	all := map[summed]int64{}
	for rows.Next() {
		var k summed
		var cost int64
		require.NoError(b.t, rows.Scan(&k.Day, &k.Hour, &k.Game, &k.OS, &cost))
		all[k] = cost
	}
	require.NoError(b.t, rows.Err())
	return all
}

// A wrong binding corrected, a real move, an end and a new beginning: each reaches both summaries of exactly its
// days, and the old game's rows are gone.
func TestRebind_ReachesTheSummariesAndLeavesNoGhost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	days := day.Between("2026-11-18", "2026-11-21")
	b.addAccounts(2)
	for account := int64(1); account <= 2; account++ {
		b.pulled(account, days...)
	}
	tm := b.term()
	handlers := media.NewRegistry(upkeep.Handlers(upkeep.Deps{Store: b.store, Marks: b.store.Data, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Platforms: []media.Platform{invented.New()}})...)
	summary, ok := handlers.Get("system.summary")
	require.True(t, ok)
	work := media.Work{}
	work.Part = "tulip"

	bind := func(account int64, from, to day.Day, game, os string) {
		_, _, err := b.store.Rebind(ctx, "otto", account, func([]summaries.Binding) (summaries.Binding, error) {
			return summaries.Binding{From: from, To: to, Game: game, OS: os}, nil
		})
		require.NoError(t, err)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing is bound", func() {}},
		{"two accounts share a game", func() {
			bind(1, summaries.FirstBoundDay, summaries.LastDay, "starfall", "ios")
			bind(2, summaries.FirstBoundDay, summaries.LastDay, "starfall", "ios")
		}},
		{"a move from a day on", func() { bind(1, days[2], summaries.LastDay, "tinyfarm", "ios") }},
		{"its days are corrected, the os too", func() { bind(1, days[2], summaries.LastDay, "nightraid", "android") }},
		{"it is unbound from a day on", func() { bind(1, days[3], summaries.LastDay, "", "") }},
		{"it is bound again", func() { bind(1, days[3], summaries.LastDay, "tinyfarm", "ios") }},
		{"a day in the middle is corrected", func() { bind(1, days[1], days[1], "tinyfarm", "ios") }},
		{"the first game was wrong for both", func() {
			bind(1, summaries.FirstBoundDay, summaries.LastDay, "tinyfarm", "pc")
			bind(2, summaries.FirstBoundDay, summaries.LastDay, "nightraid", "pc")
		}},
	} {
		step.do()
		tm.readAt = tm.readAt.Add(-tm.bindings.interval)
		require.NoError(t, tm.keepBindings(ctx))
		_, err := summary.Run(ctx, work)
		require.NoError(t, err)

		daily, hourly := map[summed]int64{}, map[summed]int64{}
		for account := int64(1); account <= 2; account++ {
			bindings, err := b.store.AccountBindings(ctx, account)
			require.NoError(t, err)
			for i, d := range days {
				game, os := "unassigned", "unknown"
				if bound, ok := summaries.BindingOn(bindings, d); ok {
					game, os = bound.Game, bound.OS
				}
				daily[summed{d, 0, game, os}] += spent(account, i, 0)
				for _, hour := range []int{9, 21} {
					hourly[summed{d, hour, game, os}] += spent(account, i, hour)
				}
			}
		}
		require.Equal(t, daily, b.summaries("summary_daily", "0"), step.name)
		require.Equal(t, hourly, b.summaries("summary_hourly", "hour"), step.name)
	}
}
