package sqldb

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/secret"
)

// onServer opens the database mysql of the tests' server. It skips the test without one.
func onServer(t *testing.T) *DB {
	t.Helper()
	server := os.Getenv("ADSYNC_TEST_MYSQL")
	if server == "" {
		t.Skip("SQLite reads no lists as JSON")
	}
	d, err := openDB(t.Context(), Database{Driver: MySQL, Writer: secret.NewText(server), MaxOpenConns: 2}, false,
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Ping(t.Context()))
	return d
}

// A MariaDB that does not read JSON would silently cost a sixth of the speed.
func TestReadsJSON_MariaDBDoes(t *testing.T) {
	t.Parallel()
	d := onServer(t)
	var version string
	require.NoError(t, d.Writer(t.Context()).Raw("SELECT VERSION()").Row().Scan(&version))
	if !strings.Contains(version, "MariaDB") {
		t.Skip("not a MariaDB: " + version)
	}
	require.True(t, d.readsJSON())
}

// If a server answers differently, or refuses, the chain of SELECTs is used.
func TestReadsJSON_OnlyIfItIsReadExactly(t *testing.T) {
	t.Parallel()
	d := onServer(t)
	if !d.readsJSON() {
		t.Skip("the server does not read JSON")
	}
	pool, err := d.SQL()
	require.NoError(t, err)
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	query, args, want := jsonProbe()
	returns := func(query string, want []string) (can bool) {
		require.NoError(t, conn.Raw(func(c any) error {
			var err error
			can, err = queryReturns(context.Background(), c.(driver.Conn), query, args, want)
			return err
		}))
		return can
	}
	require.True(t, returns(query, want))
	require.False(t, returns(query, want[1:]))
	require.False(t, returns(query, append([]string{"x"}, want[1:]...)))
}

// A list has the same rows, whichever way it is written.
func TestValues_AsJSONAndAsChain(t *testing.T) {
	t.Parallel()
	d := onServer(t)
	if !d.readsJSON() {
		t.Skip("the server does not read JSON")
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "rows")
		numbers := rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "numbers")
		texts := rapid.SliceOfN(rapid.String(), n, n).Draw(t, "texts")
		moments := rapid.SliceOfN(rapid.Int64Range(-1, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()), n, n).Draw(t,
			"moments")
		read := func(asJSON bool) (rows [][3]string) {
			v := d.NewValues(n)
			v.json = v.json && asJSON
			v.Ints("row", func(i int) int64 { return int64(i) })
			v.Ints("number", func(i int) int64 { return numbers[i] })
			v.Texts("word", func(i int) string { return texts[i] })
			v.Times("moment", func(i int) Time {
				if moments[i] < 0 {
					return Time{}
				}
				return At(time.UnixMilli(moments[i]))
			})
			what, args := v.In("o.number, o.word, COALESCE(CAST(o.moment AS DATETIME(3)), 'none')")
			list, listArgs := d.List(v)
			require.Equal(t, asJSON, strings.HasPrefix(list, "JSON_TABLE"))
			answer, err := d.Writer(context.Background()).Raw("SELECT "+what+" FROM "+list+" AS o",
				append(args, listArgs...)...).Rows()
			require.NoError(t, err)
			defer answer.Close()
			for answer.Next() {
				var row [3]string
				require.NoError(t, answer.Scan(&row[0], &row[1], &row[2]))
				rows = append(rows, row)
			}
			require.NoError(t, answer.Err())
			return rows
		}
		require.Equal(t, read(false), read(true))
	})
}

// A list that JSON cannot hold, and one with a single value, is a chain.
func TestValues_ListsThatDoNotFitJSONAreChains(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"a text that is too long":    {"a", strings.Repeat("x", jsonTextMax+1)},
		"invalid UTF-8":              {"a", "\xff"},
		"a list with a single value": {"a", "a"},
	} {
		v := &Values{Rows: len(texts), json: true, constants: map[string]any{}}
		v.Texts("word", func(i int) string { return texts[i] })
		v.listed()
		require.False(t, v.json, name)
	}
}
