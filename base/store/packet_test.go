package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// smallPackets has the server take statements of 1 MB from the connections to come.
func smallPackets(t *testing.T) store.Config {
	t.Helper()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == store.SQLite {
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

// largeRows are report rows of so many bytes of JSON each, a third of them quotes, which a statement writes as two.
func largeRows(n, bytes int) (rows []store.ReportRow) {
	filler, _ := json.Marshal(strings.Repeat(`"广`, bytes/6))
	for i := range n {
		rows = append(rows, store.ReportRow{Day: "2026-11-21", Object: fmt.Sprint("o", i), Raw: []any{int64(i)}, JSON: `{"x":` + string(filler) + `}`})
	}
	return rows
}

var largeTable = store.RawTable{Name: "fake_large", Shape: store.DailyRows, Columns: []store.RawColumn{{Name: "cost_fen", Kind: store.Int}}}

func writeLarge(t *testing.T, s *store.Store, rows []store.ReportRow) error {
	t.Helper()
	claim, _, err := s.BeginPull(t.Context(), store.Scope{AccountID: 7, Media: "fake", Report: "report_daily", Level: "adgroup", Days: []day.Day{"2026-11-21"}}, "p", 1)
	require.NoError(t, err)
	_, err = s.WriteReport(t.Context(), store.ReportWrite{Claim: claim, Raw: largeTable, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows, Whole: true})
	return err
}

// It is not parallel: the server's setting is that of all.
func TestStatements_AreNoLargerThanTheServerTakes(t *testing.T) { //nolint:paralleltest // See above.
	cfg := smallPackets(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureRawTables(t.Context(), []store.RawTable{largeTable}))

	// A row of 30 KB has 250 others in its statement otherwise; a single row of 400 KB goes alone.
	for _, rows := range [][]store.ReportRow{largeRows(300, 30_000), largeRows(3, 400_000)} {
		require.NoError(t, writeLarge(t, s, rows))
		var n, bytes int
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*), MIN(LENGTH(row_json)) FROM fake_large").Row().Scan(&n, &bytes))
		require.Len(t, rows, n)
	}

	// Outcomes whose errors are as long as their column.
	l, run, now := startRun(t, s)
	const n = 700
	parts := make([]store.AccountPart, n)
	outcomes := make([]store.Outcome, n)
	for i := range parts {
		parts[i] = store.AccountPart{AccountID: int64(i + 1), Part: "d"}
		outcomes[i] = store.Outcome{
			Key: task.Key{RunID: run.ID, AccountID: int64(i + 1), Part: "d"}, Delivery: 1, State: task.Failed, StartedAt: outcomeTime, EndedAt: outcomeTime,
			ErrorClass: "transient", ErrorText: strings.Repeat("广", 1000) + fmt.Sprint(i),
		}
	}
	_, err := s.AddSubtasks(t.Context(), l, run.ID, parts, now)
	require.NoError(t, err)
	stale, err := s.ApplyOutcomes(t.Context(), outcomes)
	require.NoError(t, err)
	require.Zero(t, stale)
}

func TestStatements_ARowThatIsTooLargeIsNamed(t *testing.T) { //nolint:paralleltest // The server's setting is that of all.
	cfg := smallPackets(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureRawTables(t.Context(), []store.RawTable{largeTable}))
	limit, setting := 1<<24-1, "a column of type MEDIUMTEXT"
	rows := largeRows(2, 30_000)
	rows[1].JSON = `"` + strings.Repeat("x", 1<<24) + `"`
	if cfg.Data.Driver == store.MySQL {
		limit, setting, rows[1].JSON = 1<<20, "the server's max_allowed_packet", `"`+strings.Repeat("x", 1<<20)+`"`
	}
	err := writeLarge(t, s, rows)
	require.True(t, store.IsTooLarge(err), "%v", err)
	require.ErrorContains(t, err, "the row 2026-11-21/7/adgroup/o1 of fake_large has ")
	require.ErrorContains(t, err, fmt.Sprintf(" bytes, and %s allows %d", setting, limit))
	var n int
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_large").Row().Scan(&n))
	require.Zero(t, n)
}
