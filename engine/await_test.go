package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
)

func TestAwait_ContinuesWhenTheServerComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		err := Await(t.Context(), slog.New(slog.NewTextHandler(&out, nil)), "the databases", func(ctx context.Context) error {
			switch since := time.Since(began); {
			case since < 20*time.Second:
				return fmt.Errorf("dial: port %d: connection refused", int(since.Seconds()))
			case since < 40*time.Second:
				<-ctx.Done() // It hangs.
				return ctx.Err()
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(out.String(), "the start waits for the databases"), "one line per cause: %s",
			out.String())
		require.Equal(t, 1, strings.Count(out.String(), "the start continues"))
	})
}

func TestAwait_EndsWithTheReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("it took longer than 5m0s"))
		defer cancel()
		refused := errors.New("connection refused")
		err := Await(ctx, slog.New(slog.DiscardHandler), "x", func(context.Context) error { return refused })
		require.EqualError(t, err, "it took longer than 5m0s: connection refused")
	})
}

func TestAwait_DoesNotWaitForWhatOnlyAPersonCanFix(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"tables of another version":  &sqldb.SchemaError{Database: "data", Have: 1, Want: 2},
		"a binary log of statements": fmt.Errorf("config database: %w", sqldb.ErrStatementBinlog),
		"a missing right":            fmt.Errorf("read lanes: %w", &mysql.MySQLError{Number: 1142}),
		"a wrong password":           fmt.Errorf("connect: %w", &mysql.MySQLError{Number: 1045}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, Await(t.Context(), slog.New(slog.DiscardHandler), "x",
				func(context.Context) error { return err }), err)
		})
	}
}
