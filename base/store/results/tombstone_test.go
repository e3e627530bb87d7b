package results_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestTombstones_RecordWhatAPullDeleted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "1", 1_000_000, `{}`), storetest.CostRow(today, "2", 1, `{}`)))
	require.NoError(t, err)
	// A row that only the raw table has was never in the public one.
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO test_report_daily (day, account_id, level, object_id, cost_fen, row_json, version)"+
				" VALUES (?, 7, 'account', '3', 0, '{}', 1)", today).Error)
	partial := storetest.ReportOf(storetest.Claim(t, s, "b", today))
	partial.Whole = false
	_, err = s.WriteReport(ctx, partial)
	require.NoError(t, err)
	_, err = s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "c", today)))
	require.NoError(t, err)
	require.Empty(t, storetest.Tombstones(t, s), "neither a partial pull nor a suspect one deletes")

	claim := storetest.Claim(t, s, "d", today)
	_, err = s.WriteReport(ctx, storetest.ReportOf(claim, storetest.CostRow(today, "1", 1_000_000, `{}`)))
	require.NoError(t, err)
	require.Equal(t, []string{"report_daily 2026-11-21 - 7 account 2 - - -"}, storetest.Tombstones(t, s))
	var version int64
	var at sqldb.Time
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT version, deleted_at FROM report_tombstone").Row().Scan(&version,
		&at))
	require.Equal(t, claim.Version, version)
	require.WithinDuration(t, time.UnixMicro(claim.Version), at.Time, time.Minute)

	n, err := s.PurgeTombstones(ctx, time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE report_tombstone SET deleted_at = '2026-01-01 00:00:00.000'").Error)
	n, err = s.PurgeTombstones(ctx, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, storetest.Tombstones(t, s))
}

// warehouse loads report_daily with the statements of docs/warehouse.md.
type warehouse struct {
	sql     map[string]string
	store   *store.Store
	loaded  sqldb.Time // the start of the last load; zero before the first
	overlap time.Duration
}

func newWarehouse(t *testing.T, s *store.Store, overlap time.Duration) *warehouse {
	t.Helper()
	page, err := os.ReadFile("../../../docs/warehouse.md")
	require.NoError(t, err)
	w := &warehouse{sql: map[string]string{}, store: s, overlap: overlap}
	for _, block := range regexp.MustCompile("(?s)```sql\n-- ([a-z]+(?: \\d)?)[^\n]*\n(.*?)\n```").FindAllStringSubmatch(
		string(page), -1) {
		w.sql[block[1]] = block[2]
	}
	require.Len(t, w.sql, 5)
	return w
}

func (w *warehouse) exec(t require.TestingT, sql string) {
	require.NoError(t, w.store.Data.Writer(context.Background()).Exec(sql).Error, sql)
}

// load loads everything the first time, and changes after that.
func (w *warehouse) load(t require.TestingT) {
	now, err := w.store.Data.Now(context.Background())
	require.NoError(t, err)
	if w.loaded.IsZero() {
		w.exec(t, "DROP TABLE IF EXISTS warehouse_report_daily")
		w.exec(t, "CREATE TABLE warehouse_report_daily AS SELECT * FROM report_daily")
	} else {
		const example = "'2026-11-21 09:45:00.000'"
		since, err := sqldb.At(w.loaded.Add(-w.overlap)).Value()
		require.NoError(t, err)
		for table, block := range map[string]string{"loaded_rows": "changed", "loaded_tombstones": "deleted"} {
			require.Contains(t, w.sql[block], example)
			w.exec(t, "DROP TABLE IF EXISTS "+table)
			w.exec(t, "CREATE TABLE "+table+" AS "+strings.ReplaceAll(w.sql[block], example, fmt.Sprintf("'%s'", since)))
		}
		for i := 1; i <= 3; i++ {
			w.exec(t, w.sql[fmt.Sprint("apply ", i)])
		}
	}
	w.loaded = sqldb.At(now)
}

// rowsOf returns the rows of a table without the columns that a pull does not decide.
func rowsOf(t require.TestingT, s *store.Store, table string) []string {
	var rows []string
	err := s.Data.Writer(context.Background()).Raw(
		"SELECT CONCAT(day, ' ', account_id, ' ', object_id, ' ', COALESCE(cost, 'null'), ' ', version) FROM " + table +
			" ORDER BY day, account_id, level, object_id").Scan(&rows).Error
	require.NoError(t, err)
	return rows
}

// A warehouse that loads changes ends with the same rows, while rows are written, deleted and written again, and
// transactions become visible later than their times.
func TestTombstones_AWarehouseFollowsWithAnOverlap(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	days := []day.Day{today.Add(-1), today}
	const overlap = 15 * time.Minute
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		for _, table := range []string{"coverage", "report_daily", "test_report_daily", "report_tombstone"} {
			require.NoError(rt, s.Data.Writer(ctx).Exec("DELETE FROM "+table).Error)
		}
		w := newWarehouse(t, s, overlap)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "load") {
				w.load(rt)
				continue
			}
			claim := storetest.Claim(t, s, "p", days...)
			write := storetest.ReportOf(claim)
			write.Confirmed, write.Whole = true, rapid.IntRange(0, 4).Draw(rt, "whole") > 0
			for _, d := range days {
				for object := range 3 {
					if cost := rapid.Int64Range(0, 3).Draw(rt, "cost"); cost > 0 {
						write.Rows = append(write.Rows, storetest.CostRow(d, fmt.Sprint(object), cost, fmt.Sprintf(`{"cost":%d}`, cost)))
					}
				}
			}
			_, err := s.WriteReport(ctx, write)
			require.NoError(rt, err)
			// It began some time ago, before loads that did not see it.
			now, err := s.Data.Now(ctx)
			require.NoError(rt, err)
			stamp := sqldb.At(now.Add(-time.Duration(rapid.Int64Range(0, int64(overlap-time.Minute)).Draw(rt, "late"))))
			for _, column := range [][2]string{{"report_daily", "updated_at"}, {"report_tombstone", "deleted_at"}} {
				require.NoError(rt, s.Data.Writer(ctx).Exec("UPDATE "+column[0]+" SET "+column[1]+" = ? WHERE version = ?", stamp,
					claim.Version).Error)
			}
		}
		w.load(rt)
		require.Equal(rt, rowsOf(rt, s, "report_daily"), rowsOf(rt, s, "warehouse_report_daily"))
	})
}
