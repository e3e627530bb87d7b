package sqldb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/store/storetest"
)

// TestSQLite_KeepsStatements runs one statement within itself, more statements than a connection keeps, and one whose
// table has changed.
func TestSQLite_KeepsStatements(t *testing.T) {
	t.Parallel()
	db := storetest.NewSQLite(t).Data
	exec := func(query string, args ...any) {
		t.Helper()
		require.NoError(t, db.Writer(t.Context()).Exec(query, args...).Error)
	}
	exec("CREATE TABLE a (n INTEGER PRIMARY KEY, text TEXT)")
	for n := range 3 {
		exec("INSERT INTO a (n, text) VALUES (?, ?)", n, fmt.Sprint("text ", n))
	}
	const query = "SELECT n FROM a WHERE n >= ? ORDER BY n"
	var all func(tx *gorm.DB, from int) []int
	all = func(tx *gorm.DB, from int) (found []int) {
		rows, err := tx.Raw(query, from).Rows()
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var n int
			require.NoError(t, rows.Scan(&n))
			found = append(found, n)
			if from < 2 {
				found = append(found, all(tx, from+1)...)
			}
			for i := range 100 {
				var got int
				require.NoError(t, tx.Raw(fmt.Sprintf("SELECT %d + ?", i), n).Scan(&got).Error)
				require.Equal(t, i+n, got)
			}
		}
		require.NoError(t, rows.Err())
		return found
	}
	for range 2 {
		require.NoError(t, db.Writer(t.Context()).Transaction(func(tx *gorm.DB) error {
			require.Equal(t, []int{1, 2, 2, 2}, all(tx, 1), "the inner rows come between the outer ones")
			return nil
		}))
	}

	var whole []map[string]any
	require.NoError(t, db.Writer(t.Context()).Raw("SELECT * FROM a WHERE n = 1").Scan(&whole).Error)
	require.Len(t, whole[0], 2)
	exec("ALTER TABLE a ADD COLUMN more INTEGER NOT NULL DEFAULT 7")
	whole = nil
	require.NoError(t, db.Writer(t.Context()).Raw("SELECT * FROM a WHERE n = 1").Scan(&whole).Error)
	require.Equal(t, map[string]any{"n": int64(1), "text": "text 1", "more": int64(7)}, whole[0])
	exec("DROP TABLE a")
	err := db.Writer(t.Context()).Exec("INSERT INTO a (n, text) VALUES (?, ?)", 1, "").Error
	require.ErrorContains(t, err, "no such table")
}
