package sqldb

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSQLLog_CutsStatementsAndLeavesValuesOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := sqlLog{log: slog.New(slog.NewTextHandler(&out, nil)), slow: time.Millisecond, budget: &lineBudget{}}
	sql, values := l.ParamsFilter(context.Background(), "SELECT ?", "hunter2")
	require.Equal(t, "SELECT ?", sql)
	require.Empty(t, values)

	long := "INSERT INTO t VALUES " + strings.Repeat("(?),", 10_000)
	l.Trace(context.Background(), time.Now().Add(-time.Second), func() (string, int64) { return long, 7 }, nil)
	require.Less(t, out.Len(), 600)
	require.Contains(t, out.String(), "rows=7")

	out.Reset()
	l.Trace(context.Background(), time.Now(), func() (string, int64) { return long, 0 }, errors.New("duplicate"))
	require.Empty(t, out.String(), "the caller logs a failed statement")
}

func TestSQLLog_ASlowServerDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := sqlLog{log: slog.New(slog.NewTextHandler(&out, nil)), slow: time.Millisecond, budget: &lineBudget{}}
		slowOnes := func(n int) {
			for range n {
				l.Trace(t.Context(), time.Now().Add(-time.Second), func() (string, int64) { return "SELECT 1", 1 }, nil)
			}
		}
		slowOnes(100)
		require.Equal(t, slowLines, strings.Count(out.String(), "slow SQL statement"))
		time.Sleep(2 * slowWindow)
		slowOnes(1)
		require.Contains(t, out.String(), "lines_left_out=95")
	})
}
