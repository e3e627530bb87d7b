package store_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestApplyBindings_MarksTheTouchedDays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := lead(t, s, "a")
	const far = int64(9_000_000_000_000_000) // a mark that is already higher than the database's time
	for _, day := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		for _, level := range []string{"account", "adgroup"} {
			require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO coverage (account_id, report, level, day, media, dirty) VALUES (1, 'report_daily', ?, ?, 'tencent', ?)",
				level, day, map[bool]any{true: far, false: nil}[day == "2026-11-03"]).Error)
		}
	}
	b := []store.Binding{{AccountID: 1, From: "2026-11-02", To: "9999-12-31", Game: "g", OS: "ios"}}
	require.NoError(t, s.ApplyBindings(ctx, l, []store.BindingChange{{AccountID: 1, Bindings: b, Touched: []store.Binding{{From: "2026-11-02", To: "9999-12-31"}}}}))
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
			require.Equal(t, far+1, *r.Dirty, "the mark became another one")
		case r.Day == "2026-11-03":
			require.Equal(t, far, *r.Dirty)
		default:
			require.Nil(t, r.Dirty, "%s %s is not touched", r.Level, r.Day)
		}
	}

	require.NoError(t, s.ApplyBindings(ctx, l, []store.BindingChange{{AccountID: 1}}))
	got, err = s.AppliedBindings(ctx)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestApplyBindings_ADayThatBecomesKnownMeanwhileWaits(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("SQLite has one writer: needs " + storetest.ServerEnv)
	}
	bindTo(t, s, "chess", 7)
	pull := func() {
		_, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "a", today), costRow(today, "", 7_000_000, `{}`)))
		require.NoError(t, err)
	}
	var marking atomic.Bool
	s.Data.BeforeRows(func(query string) {
		if !strings.HasPrefix(query, "SELECT report, media, day FROM coverage") || !marking.CompareAndSwap(false, true) {
			return
		}
		// The account's known days are marked, and the new binding is not committed yet.
		if makesCoverageKnown(t, s) {
			pull()
			rebuildAll(t, s)
		}
	})
	bindTo(t, s, "go", 7)
	require.True(t, marking.Load())
	pull()
	rebuildAll(t, s)
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(versions(t, s))))
}

// makesCoverageKnown puts today among the days of account 7, unless it has to wait for somebody.
func makesCoverageKnown(t *testing.T, s *store.Store) bool {
	t.Helper()
	pool, err := s.Data.Writer(t.Context()).DB()
	require.NoError(t, err)
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1")
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "INSERT INTO coverage (account_id, report, level, day, media) VALUES (7, 'report_daily', 'account', ?, 'test')", string(today))
	_, reset := conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = DEFAULT")
	require.NoError(t, reset)
	if err != nil {
		require.ErrorContains(t, err, "Lock wait timeout")
	}
	return err == nil
}

func TestBindings_BlanksAtTheEndAreNoOtherGame(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := resultStore(t)
	var changes []store.BindingChange
	for account, game := range map[int64]string{7: "chess", 8: "chess "} {
		claim := begin(t, s, "a", today)
		claim.AccountID = account
		_, err := s.WriteReport(ctx, reportOf(claim, costRow(today, "", account*1_000_000, `{}`)))
		require.NoError(t, err)
		require.NoError(t, s.Config.Writer(ctx).Exec("INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, '2026-01-01', '9999-12-31', ?, 'ios')", account, game).Error)
	}
	bindings, err := s.Bindings(ctx)
	require.NoError(t, err)
	for _, b := range bindings {
		changes = append(changes, store.BindingChange{AccountID: b.AccountID, Bindings: []store.Binding{b}, Touched: []store.Binding{b}})
	}
	require.NoError(t, s.ApplyBindings(ctx, lead(t, s, "binder"), changes))
	rebuildAll(t, s)
	require.Equal(t, 1, rowsIn(t, s, "summary_daily WHERE game = 'chess' AND cost = 15000000"))
}
