package sqldb_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// smallPackets limits the statements of new connections to 1 MB.
func smallPackets(t *testing.T) sqldb.Config {
	t.Helper()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.SQLite {
		return cfg
	}
	s := storetest.Open(t, cfg)
	var before int64
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT @@global.max_allowed_packet").Row().Scan(&before))
	require.NoError(t, s.Data.Writer(t.Context()).Exec("SET GLOBAL max_allowed_packet = 1048576").Error)
	t.Cleanup(func() {
		require.NoError(t, s.Data.Writer(context.Background()).Exec("SET GLOBAL max_allowed_packet = ?", before).Error)
	})
	return cfg
}

// largeRows returns report rows with JSON of the given size. A third of it are quotes, which a statement doubles.
func largeRows(n, bytes int) (rows []results.ReportRow) {
	filler, _ := json.Marshal(strings.Repeat(`"广`, bytes/6))
	for i := range n {
		rows = append(rows, results.ReportRow{Day: "2026-11-21", Object: fmt.Sprint("o", i), Raw: []any{int64(i)},
			JSON: `{"x":` + string(filler) + `}`})
	}
	return rows
}

var largeTable = rawtable.Table{Name: "fake_large", Shape: rawtable.DailyRows,
	Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}

func writeLarge(t *testing.T, s *store.Store, rows []results.ReportRow) error {
	t.Helper()
	claim, _, err := s.BeginPull(t.Context(), results.Scope{AccountID: 7, Media: "fake", Report: "report_daily",
		Level: "adgroup", Days: []day.Day{"2026-11-21"}}, "p", 1)
	require.NoError(t, err)
	_, err = s.WriteReport(t.Context(), results.ReportWrite{Claim: claim, Raw: largeTable, Currency: "CNY",
		Zone: "Asia/Shanghai", Rows: rows, Whole: true})
	return err
}

// The test is not parallel: the server's setting applies to all tests.
func TestStatements_AreNoLargerThanTheServerTakes(t *testing.T) { //nolint:paralleltest // See above.
	cfg := smallPackets(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{largeTable}))

	// A row of 30 KB shares its statement with 250 others otherwise. A single row of 400 KB has its own.
	for _, rows := range [][]results.ReportRow{largeRows(300, 30_000), largeRows(3, 400_000)} {
		require.NoError(t, writeLarge(t, s, rows))
		var n, bytes int
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw("SELECT COUNT(*), MIN(LENGTH(row_json)) FROM fake_large").Row().Scan(&n, &bytes))
		require.Len(t, rows, n)
	}

	// Outcomes whose errors are as long as their column.
	l, run, now := storetest.StartRun(t, s)
	const n = 700
	parts := make([]ledger.AccountPart, n)
	outcomes := make([]ledger.Outcome, n)
	for i := range parts {
		parts[i] = ledger.AccountPart{AccountID: int64(i + 1), Part: "d"}
		outcomes[i] = ledger.Outcome{
			Key: task.Key{RunID: run.ID, AccountID: int64(i + 1), Part: "d"}, Delivery: 1, State: task.Failed,
			StartedAt: storetest.Moment, EndedAt: storetest.Moment,
			ErrorClass: "transient", ErrorText: strings.Repeat("广", 1000) + fmt.Sprint(i),
		}
	}
	_, err := s.AddSubtasks(t.Context(), l, run.ID, parts, now)
	require.NoError(t, err)
	stale, err := s.ApplyOutcomes(t.Context(), outcomes)
	require.NoError(t, err)
	require.Zero(t, stale)
}

func TestStatements_ARowThatIsTooLargeIsNamed(t *testing.T) { //nolint:paralleltest // All tests share the server.
	cfg := smallPackets(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{largeTable}))
	limit, setting := 1<<24-1, "a column of type MEDIUMTEXT"
	rows := largeRows(2, 30_000)
	rows[1].JSON = `"` + strings.Repeat("x", 1<<24) + `"`
	if cfg.Data.Driver == sqldb.MySQL {
		limit, setting, rows[1].JSON = 1<<20, "the server's max_allowed_packet", `"`+strings.Repeat("x", 1<<20)+`"`
	}
	err := writeLarge(t, s, rows)
	require.True(t, sqldb.IsTooLarge(err), "%v", err)
	require.ErrorContains(t, err, "the row 2026-11-21/7/adgroup/o1 of fake_large has ")
	require.ErrorContains(t, err, fmt.Sprintf(" bytes, and %s allows %d", setting, limit))
	var n int
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_large").Row().Scan(&n))
	require.Zero(t, n)
}
