package simclient

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store/storetest"
	"adsync/media/mediatest"
)

// RequireTrue requires that the public table has the rows that the truth has of a report's days, and no other row of
// the account at that level. There must be rows.
func (x *Puller) RequireTrue(t *testing.T, report, level string, id int64, from, to day.Day) {
	t.Helper()
	want, got := x.Server.Rows(t, report, level, x.Server.Accounts[id-1], from, to), x.written(t, report, level, id)
	require.NotEmpty(t, want, "%s of account %d at level %s", report, id, level)
	require.ElementsMatch(t, want, got, "%s of account %d at level %s", report, id, level)
}

// written returns an account's rows in the public table of a report.
func (x *Puller) written(t *testing.T, report, level string, id int64) (found []mediatest.Row) {
	t.Helper()
	columns := "day, 0, object_id"
	if report == "report_hourly" {
		columns = "day, hour, object_id"
	}
	for _, m := range metric.All {
		columns += ", " + m.Name
	}
	rows, err := x.Store.Data.Writer(t.Context()).Raw("SELECT "+columns+" FROM "+report+
		" WHERE level = ? AND account_id = ?", level, id).Rows()
	require.NoError(t, err)
	defer rows.Close()
	values := make([]sql.NullInt64, len(metric.All))
	for rows.Next() {
		row := mediatest.Row{Metrics: map[string]int64{}}
		fields := []any{&row.Day, &row.Hour, &row.Object}
		for i := range values {
			fields = append(fields, &values[i])
		}
		require.NoError(t, rows.Scan(fields...))
		for i, m := range metric.All {
			if values[i].Valid {
				row.Metrics[m.Name] = values[i].Int64
			}
		}
		found = append(found, row)
	}
	require.NoError(t, rows.Err())
	return found
}

// RequireList pulls a list of an account whole, and requires that its table has as many objects as the truth, which
// must have some.
func (x *Puller) RequireList(t *testing.T, list string, id int64) {
	t.Helper()
	require.NoError(t, x.Try(t, list, id, "1", `{"mode":"full"}`), "%s of account %d", list, id)
	want := x.Server.Objects(t, list, x.Server.Accounts[id-1])
	require.NotEmpty(t, want, "%s of account %d", list, id)
	rows := fmt.Sprintf("%s_%s WHERE account_id = %d", x.Platform.Name(), list, id)
	require.Equal(t, len(want), storetest.RowsIn(t, x.Store, rows), "%s of account %d", list, id)
}
