package summaries_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

const today = day.Day("2026-11-21")

// The database adds up by the rule of metric.Values: a figure that no row has is NULL, not 0.
func TestRebuildSummary_HasTheSumsOfMetricValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	db := s.Data.Writer(ctx)
	require.NoError(t, s.EnsurePartitions(ctx, today, today))
	dice := rand.New(rand.NewPCG(1, 2)) // The same sequence each time.
	want := map[string]*metric.Values{}
	const accounts = 1300 // More than one statement adds up.
	columns := "day, account_id, level, object_id, hour, media, currency, day_zone, version, updated_at, " +
		strings.Join(metric.Names(), ", ")
	var args []any
	for id := 1; id <= accounts; id++ {
		game, os := "unassigned", "unknown"
		if id%10 != 0 {
			game, os = fmt.Sprintf("game%d", id%7), []string{"ios", "android"}[id%2]
			require.NoError(t,
				db.Exec("INSERT INTO binding_applied (account_id, from_day, to_day, game, os) VALUES (?, ?, '9999-12-31', ?, ?)",
					id, today, game, os).Error)
		}
		for hour := range 2 {
			currency := []string{"CNY", "USD"}[dice.IntN(2)]
			var v metric.Values
			for m := range metric.N { // In each game no account, or few, have some of the figures.
				if m%7 != id%7 && dice.IntN(m+2) < 2 {
					v.Set(m, dice.Int64N(2e15)-1e15)
				}
			}
			media := "acme"
			if id%50 == 1 {
				media = "other"
			} else {
				key := strings.Join([]string{fmt.Sprint(hour), game, os, currency}, " ")
				if want[key] == nil {
					want[key] = &metric.Values{}
				}
				want[key].Add(&v)
			}
			args = v.Args(append(args, today, id, "account", "", hour, media, currency, "Asia/Shanghai", 1, "2026-11-21"))
		}
		if id%100 == 0 {
			rows := 2 * 100
			require.NoError(t, db.Exec("INSERT INTO report_hourly ("+columns+") VALUES "+sqldb.Tuples(rows, len(args)/rows),
				args...).Error)
			args = nil
		}
	}
	_, err := s.RebuildSummary(ctx, summaries.DirtyDay{Media: "acme", Hourly: true, Day: today})
	require.NoError(t, err)

	rows, err := db.Raw("SELECT hour, game, os, currency, " + strings.Join(metric.Names(), ", ") +
		" FROM summary_hourly").Rows()
	require.NoError(t, err)
	defer rows.Close()
	got := map[string]*metric.Values{}
	unset := 0
	for rows.Next() {
		var hour int
		var game, os, currency string
		var c metric.Columns
		require.NoError(t, rows.Scan(c.Dest([]any{&hour, &game, &os, &currency})...))
		v := c.Values()
		got[strings.Join([]string{fmt.Sprint(hour), game, os, currency}, " ")] = &v
		for m := range metric.N {
			if _, has := v.Get(m); !has {
				unset++
			}
		}
	}
	require.NoError(t, rows.Err())
	require.Positive(t, unset)
	require.Equal(t, want, got)
}

func TestRebuildSummary_KeepsCurrenciesAndZonesApart(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	raw := rawtable.Table{Name: "test_report_hourly", Shape: rawtable.HourlyRows,
		Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{raw}))
	const d = day.Day("2026-11-01") // of 25 hours in Los Angeles
	for account, home := range map[int64][2]string{7: {"CNY", "Asia/Shanghai"}, 8: {"USD", "America/Los_Angeles"},
		9: {"USD", "America/Los_Angeles"}} {
		scope := results.Scope{AccountID: account, Media: "test", Report: "report_hourly", Level: "account",
			Days: []day.Day{d}}
		claim, _, err := s.BeginPull(t.Context(), scope, "pull", 1)
		require.NoError(t, err)
		row := storetest.CostRow(d, "", account*1_000_000, `{}`)
		row.Hour = 5
		_, err = s.WriteReport(t.Context(), results.ReportWrite{
			Claim: claim, Raw: raw, Hourly: true, Currency: home[0], Zone: home[1], Whole: true, DirtySummary: true,
			Rows: []results.ReportRow{row},
		})
		require.NoError(t, err)
	}
	days, err := s.DirtyDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1)
	_, err = s.RebuildSummary(t.Context(), days[0])
	require.NoError(t, err)

	var rows []struct {
		Currency, DayZone string
		Cost              int64
		StartUTC          sqldb.Time `gorm:"column:start_utc"`
	}
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT currency, day_zone, cost, start_utc FROM summary_hourly ORDER BY currency").Scan(&rows).Error)
	require.Len(t, rows, 2)
	require.Equal(t, "CNY Asia/Shanghai 7000000", fmt.Sprint(rows[0].Currency, " ", rows[0].DayZone, " ", rows[0].Cost))
	require.Equal(t, "2026-10-31T21:00:00Z", rows[0].StartUTC.UTC().Format(time.RFC3339))
	require.Equal(t, "USD America/Los_Angeles 17000000",
		fmt.Sprint(rows[1].Currency, " ", rows[1].DayZone, " ", rows[1].Cost))
	require.Equal(t, "2026-11-01T13:00:00Z", rows[1].StartUTC.UTC().Format(time.RFC3339),
		"five o'clock, six hours after midnight")
}

func TestRebuildSummary_FollowsMarksAndBindings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	for _, account := range []int64{7, 8, 9} {
		claim := storetest.Claim(t, s, "a", today)
		claim.AccountID = account
		_, err := s.WriteReport(ctx, storetest.ReportOf(claim, storetest.CostRow(today, "", account*1_000_000, `{}`)))
		require.NoError(t, err)
	}
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO binding_applied (account_id, from_day, to_day, game, os)"+
				" VALUES (7, '2026-01-01', '9999-12-31', 'chess', 'ios'), (8, '2026-01-01', '9999-12-31', 'chess', 'ios')").Error)

	rebuild := func() {
		now, err := s.Data.Now(ctx)
		require.NoError(t, err)
		days, err := s.DirtyDays(ctx, "test", now.Add(time.Hour).UnixMicro(), 100)
		require.NoError(t, err)
		for _, d := range days {
			_, err := s.RebuildSummary(ctx, d)
			require.NoError(t, err)
		}
	}
	summary := func() map[string]int64 {
		var rows []struct {
			Game string `gorm:"column:game"`
			Cost int64  `gorm:"column:cost"`
		}
		require.NoError(t, s.Data.Writer(ctx).Raw("SELECT game, cost FROM summary_daily").Scan(&rows).Error)
		sums := map[string]int64{}
		for _, r := range rows {
			sums[r.Game] = r.Cost
		}
		return sums
	}
	rebuild()
	require.Equal(t, map[string]int64{"chess": 15_000_000, "unassigned": 9_000_000}, summary())
	require.Nil(t, storetest.CoverageOf(t, s)[today].Dirty, "the marks that were read are cleared")

	// A change of binding marks the day; the old game's sum is deleted with its last account.
	storetest.BindTo(t, s, "go", 7, 8)
	rebuild()
	require.Equal(t, map[string]int64{"go": 15_000_000, "unassigned": 9_000_000}, summary())

	// New figures of one account rebuild only its game.
	storetest.BindTo(t, s, "chess", 8)
	rebuild()
	before := storetest.SummaryVersions(t, s)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE report_daily SET cost = cost + 1 WHERE account_id = 7").Error)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE coverage SET dirty = claimed_version WHERE account_id = 7").Error)
	rebuild()
	after := storetest.SummaryVersions(t, s)
	require.Greater(t, after["go"], before["go"])
	delete(after, "go")
	delete(before, "go")
	require.Equal(t, before, after)
	require.Len(t, before, 2)
	var rebound int
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM summary_rebound").Row().Scan(&rebound))
	require.Zero(t, rebound, "the marks that were read are cleared")
}

func TestRebuildSummary_AfterALeaderOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	storetest.BindTo(t, s, "chess", 7)
	_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "", 7_000_000, `{}`)))
	require.NoError(t, err)
	storetest.RebuildSummaries(t, s)
	// In an upgrade consumers come before producers. The old leader marks coverage, and does not write summary_rebound.
	for _, statement := range []string{
		"UPDATE coverage SET dirty = claimed_version + 1 WHERE account_id = 7",
		"DELETE FROM binding_applied WHERE account_id = 7",
		"INSERT INTO binding_applied (account_id, from_day, to_day, game, os)" +
			" VALUES (7, '2026-01-01', '9999-12-31', 'go', 'ios')",
	} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec(statement).Error)
	}
	require.Equal(t, 1, storetest.RebuildSummaries(t, s))
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(storetest.SummaryVersions(t, s))))
}

func TestRebuildSummary_LeavesAMarkThatRoseMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	days, err := s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1)
	_, err = s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "b", today),
		storetest.CostRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	_, err = s.RebuildSummary(ctx, days[0])
	require.NoError(t, err)
	days, err = s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1, "the newer mark was not read and stays")
}

func TestRebuildSummary_OvertakenByOneThatMissedABinding(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	storetest.BindTo(t, s, "chess", 7)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "", 7_000_000, `{}`)))
	require.NoError(t, err)
	days, err := s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1)

	// While one rebuild begins another adds up. Then the account moves, and the first rebuild ends before the other.
	summed, goOn, other := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var began, adding atomic.Bool
	sqldbtest.BeforeRows(s.Data, func(query string) {
		switch {
		case strings.Contains(query, "FROM summary_rebound") && began.CompareAndSwap(false, true):
			waitForLater(t, s)
			go func() {
				_, err := s.RebuildSummary(ctx, days[0])
				other <- err
			}()
			<-summed
			storetest.BindTo(t, s, "go", 7)
		case strings.Contains(query, "JOIN report_daily AS t") && adding.CompareAndSwap(false, true):
			close(summed) // The bindings were read, so the snapshot is open.
			<-goOn
		}
	})
	_, err = s.RebuildSummary(ctx, days[0])
	require.NoError(t, err)
	close(goOn)
	require.NoError(t, <-other)

	storetest.RebuildSummaries(t, s)
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(storetest.SummaryVersions(t, s))))
}

// waitForLater returns when the database's time has advanced: SQLite's has milliseconds.
func waitForLater(t *testing.T, s *store.Store) {
	t.Helper()
	began, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	for now := began; now.Equal(began); {
		now, err = s.Data.Now(t.Context())
		require.NoError(t, err)
	}
}

func TestTombstones_RecordWhatARebuildDeleted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	hourly := storetest.ReportOf(storetest.Claim(t, s, "h", today), storetest.CostRow(today, "", 1_000_000, `{}`))
	hourly.Report, hourly.Hourly, hourly.Rows[0].Hour = "report_hourly", true, 13
	hourly.Raw = rawtable.Table{Name: "test_report_hourly", Shape: rawtable.HourlyRows,
		Columns: storetest.RawReport.Columns}
	require.NoError(t, s.EnsureRawTables(ctx, []rawtable.Table{hourly.Raw}))
	_, err = s.WriteReport(ctx, hourly)
	require.NoError(t, err)
	for _, game := range []string{"chess", "go"} {
		storetest.BindTo(t, s, game, 7)
		days, err := s.DirtyDays(ctx, "test", 1<<62, 100)
		require.NoError(t, err)
		require.Len(t, days, 2)
		for _, d := range days {
			_, err := s.RebuildSummary(ctx, d)
			require.NoError(t, err)
		}
	}
	require.ElementsMatch(t, []string{"summary_daily 2026-11-21 - - - - chess test ios",
		"summary_hourly 2026-11-21 13 - - - chess test ios"}, storetest.Tombstones(t, s))

	_, err = s.WriteReport(ctx, func() results.ReportWrite {
		claim := storetest.Claim(t, s, "h2", today)
		claim.Report, claim.Version = "report_hourly", hourly.Version+1
		w := storetest.ReportOf(claim)
		w.Hourly, w.Raw, w.Confirmed = true, hourly.Raw, true
		return w
	}())
	require.NoError(t, err)
	require.Equal(t, "report_hourly 2026-11-21 13 7 account  - - -", storetest.Tombstones(t, s)[2])
}
