package sqldb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// Keys of texts are compared directly. Formatting them for each comparison took a tenth of the time of a report's
// upsert.
func TestUpsert_SortsWithoutAllocating(t *testing.T) {
	rows := make([][]any, 1000)
	for i := range rows {
		rows[i] = []any{day.Day("2026-11-20"), int64(7), "creative", fmt.Sprintf("%012d", i*7919%1000), i}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { sqldb.SortByKey(rows, 4) }))
}
