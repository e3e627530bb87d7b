package summaries_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

const today = day.Day("2026-11-21")

// The database adds up, and metric.Values says what a sum is: a figure that no row has is none, and not 0.
func TestRebuildSummary_HasTheSumsOfMetricValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	db := s.Data.Writer(ctx)
	require.NoError(t, s.EnsurePartitions(ctx, today, today))
	dice := rand.New(rand.NewPCG(1, 2)) // The same each time.
	want := map[string]*metric.Values{}
	const accounts = 1300 // More than one statement adds up.
	columns := "day, account_id, level, object_id, hour, media, currency, day_zone, version, updated_at, " + strings.Join(metric.Names(), ", ")
	var args []any
	for id := 1; id <= accounts; id++ {
		game, os := "unassigned", "unknown"
		if id%10 != 0 {
			game, os = fmt.Sprintf("game%d", id%7), []string{"ios", "android"}[id%2]
			require.NoError(t, db.Exec("INSERT INTO binding_applied (account_id, from_day, to_day, game, os) VALUES (?, ?, '9999-12-31', ?, ?)", id, today, game, os).Error)
		}
		for hour := range 2 {
			currency := []string{"CNY", "USD"}[dice.IntN(2)]
			var v metric.Values
			for m := range metric.N { // Of each game some figures come from no account, or from few.
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
			require.NoError(t, db.Exec("INSERT INTO report_hourly ("+columns+") VALUES "+sqldb.Tuples(rows, len(args)/rows), args...).Error)
			args = nil
		}
	}
	_, err := s.RebuildSummary(ctx, summaries.DirtyDay{Media: "acme", Hourly: true, Day: today})
	require.NoError(t, err)

	rows, err := db.Raw("SELECT hour, game, os, currency, " + strings.Join(metric.Names(), ", ") + " FROM summary_hourly").Rows()
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
