package store_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

// Thousands of pulls may wait for connections. Nothing else may wait behind them, and pulls must not wait behind
// anything else.
func TestPulls_HaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	if s.Data.Pulls() == s.Data {
		t.Skip("SQLite writes on one connection")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	release := occupy(t, s.Data.Pulls())
	_, err := s.DirtyDays(ctx, "m", 1, 1)
	require.NoError(t, err)
	_, err = s.ActiveStops(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Ping(ctx))
	release()

	release = occupy(t, s.Data)
	_, err = s.WholeReports(ctx, []int64{1}, day.Epoch)
	require.NoError(t, err)
	release()
}

// occupy takes all connections to a database's writer, until release.
func occupy(t *testing.T, d *sqldb.DB) (release func()) {
	t.Helper()
	pool, err := d.SQL()
	require.NoError(t, err)
	var taken []*sql.Conn
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		require.NoError(t, err)
		taken = append(taken, conn)
	}
	return func() {
		for _, conn := range taken {
			require.NoError(t, conn.Close())
		}
	}
}
