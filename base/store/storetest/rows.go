package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
)

// Int returns the number that a query of the data database finds.
func Int(t require.TestingT, s *store.Store, query string, args ...any) (n int) {
	require.NoError(t, s.Data.Writer(context.Background()).Raw(query, args...).Scan(&n).Error)
	return n
}

// RowsIn returns how many rows a table of the data database has; from may include a WHERE.
func RowsIn(t require.TestingT, s *store.Store, from string) int {
	return Int(t, s, "SELECT COUNT(*) FROM "+from)
}

// AddRows inserts n rows in statements of 200 rows. The table's name is followed by its columns in brackets.
func AddRows(t testing.TB, db *sqldb.DB, table string, n int, row func(i int) []any) {
	t.Helper()
	width := len(row(0))
	for start := 0; start < n; start += 200 {
		var args []any
		end := min(start+200, n)
		for i := start; i < end; i++ {
			args = append(args, row(i)...)
		}
		insert := "INSERT INTO " + table + " VALUES " + sqldb.Tuples(end-start, width)
		require.NoError(t, db.Writer(t.Context()).Exec(insert, args...).Error)
	}
}

// AddAccount adds an account of the platform tulip. It is parked if the reason for that is not empty.
func AddAccount(t testing.TB, s *store.Store, id int64, tier, parked string) {
	t.Helper()
	require.NoError(t, s.Config.Writer(context.Background()).Exec(`INSERT INTO media_account
 (id, media, external_id, token_id, tier, timezone, parked) VALUES (?, 'tulip', ?, 1, ?, 'Asia/Shanghai', ?)`,
		id, fmt.Sprint("e", id), tier, parked).Error)
}
