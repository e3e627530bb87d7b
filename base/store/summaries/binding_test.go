package summaries_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/overview"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

func TestApplyBindings_MarksTheTouchedDays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	const far = int64(9_000_000_000_000_000) // a mark that is higher than the database's time
	for _, day := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		for _, level := range []string{"account", "adgroup"} {
			require.NoError(t,
				s.Data.Writer(ctx).Exec(
					"INSERT INTO coverage (account_id, report, level, day, media, dirty) VALUES (1, 'report_daily', ?, ?, 'tulip', ?)",
					level, day, map[bool]any{true: far, false: nil}[day == "2026-11-03"]).Error)
		}
	}
	b := []summaries.Binding{{AccountID: 1, From: "2026-11-02", To: "9999-12-31", Game: "g", OS: "ios"}}
	require.NoError(t,
		s.ApplyBindings(ctx, l, []summaries.BindingChange{{AccountID: 1, Bindings: b,
			Touched: []summaries.Binding{{From: "2026-11-02", To: "9999-12-31"}}}}))
	got, err := s.AppliedBindings(ctx)
	require.NoError(t, err)
	require.Equal(t, b, got)

	now, err := s.Data.Now(ctx)
	require.NoError(t, err)
	rows, err := s.ReadCoverage(ctx, 1, "2026-11-01", "2026-11-03")
	require.NoError(t, err)
	for _, r := range rows {
		switch {
		case r.Level == "account" && r.Day == "2026-11-02":
			require.NotNil(t, r.Dirty)
			require.InDelta(t, now.UnixMicro(), *r.Dirty, 60e6)
		case r.Level == "account" && r.Day == "2026-11-03":
			require.Equal(t, far+1, *r.Dirty, "the mark changed")
		case r.Day == "2026-11-03":
			require.Equal(t, far, *r.Dirty)
		default:
			require.Nil(t, r.Dirty, "%s %s is not touched", r.Level, r.Day)
		}
	}

	require.NoError(t, s.ApplyBindings(ctx, l, []summaries.BindingChange{{AccountID: 1}}))
	got, err = s.AppliedBindings(ctx)
	require.NoError(t, err)
	require.Empty(t, got)
}

// Accounts whose bindings change on the same days share the statements, and each has its own days marked.
func TestApplyBindings_OfManyAccounts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	const forever = day.Day("9999-12-31")
	days := []day.Day{"2026-11-01", "2026-11-02", "2026-11-03"}
	for account := 1; account <= 6; account++ {
		for _, d := range days {
			require.NoError(t, s.Data.Writer(t.Context()).Exec(
				"INSERT INTO coverage (account_id, report, level, day, media) VALUES (?, 'report_daily', 'account', ?, 'tulip')",
				account, d).Error)
		}
	}
	change := func(account int64, from day.Day) summaries.BindingChange {
		b := summaries.Binding{AccountID: account, From: from, To: forever, Game: "g", OS: "ios"}
		return summaries.BindingChange{AccountID: account, Bindings: []summaries.Binding{b}, Touched: []summaries.Binding{b}}
	}
	apply := func(changes ...summaries.BindingChange) (statements int) {
		return sqldbtest.Statements(s.Data, func() { require.NoError(t, s.ApplyBindings(t.Context(), l, changes)) })
	}
	one := apply(change(1, days[1]))
	require.Equal(t, one, apply(change(2, days[1]), change(3, days[1]), change(4, days[1])))
	require.Greater(t, apply(change(5, days[1]), change(6, days[2])), one)
	for account := int64(1); account <= 6; account++ {
		rows, err := s.ReadCoverage(t.Context(), account, days[0], days[2])
		require.NoError(t, err)
		var marked []day.Day
		for _, r := range rows {
			if r.Dirty != nil {
				marked = append(marked, r.Day)
			}
		}
		want := days[1:]
		if account == 6 {
			want = days[2:]
		}
		require.Equal(t, want, marked, "account %d", account)
	}
	var rebound []day.Day
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT day FROM summary_rebound WHERE report = 'report_daily'"+
		" AND media = 'tulip' ORDER BY day").Scan(&rebound).Error)
	require.Equal(t, days[1:], rebound)
}

func TestApplyBindings_NewDaysOfCoverageWait(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("SQLite has one writer: needs " + storetest.ServerEnv)
	}
	storetest.BindTo(t, s, "chess", 7)
	pull := func() {
		_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today),
			storetest.CostRow(today, "", 7_000_000, `{}`)))
		require.NoError(t, err)
	}
	var marking atomic.Bool
	sqldbtest.BeforeRows(s.Data, func(query string) {
		reads := strings.HasPrefix(query, "SELECT DISTINCT report, media, day FROM coverage")
		if !reads || !marking.CompareAndSwap(false, true) {
			return
		}
		// The account's present days are marked, and the new binding is not committed yet.
		if insertsCoverage(t, s) {
			pull()
			storetest.RebuildSummaries(t, s)
		}
	})
	storetest.BindTo(t, s, "go", 7)
	require.True(t, marking.Load())
	pull()
	storetest.RebuildSummaries(t, s)
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(storetest.SummaryVersions(t, s))))
}

// insertsCoverage adds today to the days of account 7, and reports false if it has to wait for a lock.
func insertsCoverage(t *testing.T, s *store.Store) bool {
	t.Helper()
	pool, err := s.Data.Writer(t.Context()).DB()
	require.NoError(t, err)
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1")
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(),
		"INSERT INTO coverage (account_id, report, level, day, media) VALUES (7, 'report_daily', 'account', ?, 'test')",
		string(today))
	_, reset := conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = DEFAULT")
	require.NoError(t, reset)
	if err != nil {
		require.ErrorContains(t, err, "Lock wait timeout")
	}
	return err == nil
}

func TestBindings_IgnoreBlanksAtTheEndOfAGame(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	var changes []summaries.BindingChange
	for account, game := range map[int64]string{7: "chess", 8: "chess "} {
		os := map[int64]string{7: "ios ", 8: "ios"}[account]
		claim := storetest.Claim(t, s, "a", today)
		claim.AccountID = account
		_, err := s.WriteReport(ctx, storetest.ReportOf(claim, storetest.CostRow(today, "", account*1_000_000, `{}`)))
		require.NoError(t, err)
		require.NoError(t,
			s.Config.Writer(ctx).Exec(
				"INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, '2026-01-01', '9999-12-31', ?, ?)",
				account, game, os).Error)
	}
	bindings, err := s.Bindings(ctx)
	require.NoError(t, err)
	for _, b := range bindings {
		changes = append(changes, summaries.BindingChange{AccountID: b.AccountID, Bindings: []summaries.Binding{b},
			Touched: []summaries.Binding{b}})
	}
	require.NoError(t, s.ApplyBindings(ctx, storetest.Lead(t, s, "binder"), changes))
	storetest.RebuildSummaries(t, s)
	require.Equal(t, 1, storetest.RowsIn(t, s, "summary_daily WHERE game = 'chess' AND cost = 15000000"))
}

// A binding applies on its first day and on its last, for every reader: the full rebuild and that of a few games, the
// wide table, and the lists.
func TestBindings_ApplyFromTheirFirstDayToTheirLast(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := wideStore(t)
	const account = 7
	first, last := today.Add(-3), today.Add(-2)
	days := []day.Day{first.Add(-1), first, last, last.Add(1)}
	game := func(d day.Day) string {
		if first <= d && d <= last {
			return "chess"
		}
		return "unassigned"
	}
	require.NoError(t, s.EnsurePartitions(ctx, days[0], today))
	write := func(pull string, cost int64) {
		for _, d := range days {
			_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, pull, d),
				storetest.CostRow(d, "", cost, `{"pull":"`+pull+`"}`)))
			require.NoError(t, err)
		}
	}
	write("a", 1_000_000)
	storetest.RebuildSummaries(t, s)
	rebuild(t, s)
	b := summaries.Binding{AccountID: account, From: first, To: last, Game: "chess", OS: "ios"}
	require.NoError(t, s.ApplyBindings(ctx, storetest.Lead(t, s, "binder"),
		[]summaries.BindingChange{{AccountID: account, Bindings: []summaries.Binding{b}, Touched: []summaries.Binding{b}}}))

	requireGames := func(cost int64) {
		for _, d := range days {
			require.Equal(t, 1,
				storetest.RowsIn(t, s, fmt.Sprintf("summary_daily WHERE day = '%s' AND game = '%s' AND cost = %d", d, game(d),
					cost)), d)
			require.Equal(t, 1, storetest.RowsIn(t, s, fmt.Sprintf("summary_daily WHERE day = '%s'", d)), d)
			require.Equal(t, game(d), wideLines(t, s)[d.String()+" account "].Game, d)
		}
	}
	require.Equal(t, 2, storetest.RebuildSummaries(t, s), "the days that the binding touches are marked, and no others")
	rebuild(t, s)
	requireGames(1_000_000)

	// New figures of a few accounts: only their games are added up.
	write("b", 2_000_000)
	marked, err := s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, marked, len(days))
	var all atomic.Int32
	sqldbtest.BeforeRows(s.Data, func(query string) {
		if strings.Contains(query, "LEFT JOIN binding_applied") {
			all.Add(1)
		}
	})
	for _, d := range marked {
		all.Store(0)
		_, err := s.RebuildSummary(ctx, d)
		require.NoError(t, err)
		require.Equal(t, game(d.Day) == "unassigned", all.Load() > 0, "on %s all accounts are added up only without a game",
			d.Day)
	}
	rebuild(t, s)
	requireGames(2_000_000)

	_, _, err = s.Rebind(ctx, "otto", account, func([]summaries.Binding) (summaries.Binding, error) { return b, nil })
	require.NoError(t, err)
	have, err := s.AccountBindings(ctx, account)
	require.NoError(t, err)
	for _, d := range days {
		bound := game(d) == "chess"
		_, on := summaries.BindingOn(have, d)
		require.Equal(t, bound, on, d)
		require.NoError(t, s.Glance(ctx, func(g *overview.Glance) error {
			without, err := g.Unassigned([]int64{account}, d)
			require.Equal(t, !bound, len(without) > 0, d)
			return err
		}))
		for filter, want := range map[string]bool{"chess": bound, overview.Unassigned: !bound} {
			page, _, err := s.ListAccounts(ctx, overview.AccountFilter{Game: filter, From: d, To: d}, 0, 10)
			require.NoError(t, err)
			require.Equal(t, want, len(page) == 1, "%s on %s", filter, d)
		}
		unknown, err := s.UnknownGames(ctx, d, 10)
		require.NoError(t, err)
		require.Equal(t, d <= last, len(unknown) == 1, "of a binding that holds on %s or later", d)
	}
}
