package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

func TestTroubleOf(t *testing.T) {
	t.Parallel()
	server := func(number uint16) error { return fmt.Errorf("write rows: %w", &mysql.MySQLError{Number: number}) }
	for _, tt := range []struct {
		name string
		err  error
		want trouble
	}{
		{"a deadlock", server(1213), conflict},
		{"a lock wait timeout", server(1205), conflict},
		{"a snapshot conflict", server(1020), conflict},
		{"a full table", server(1114), lasting},
		{"a full disk", server(1021), lasting},
		{"no memory", server(1041), lasting},
		{"a broken statement", server(1064), lasting},
		{"a missing table", server(1146), lasting},
		{"a server that stops", server(1053), broken},
		{"an aborted connection", server(1152), broken},
		{"too many connections", server(1040), broken},
		{"a killed connection", server(1927), broken},
		{"a server that only takes reads", server(1836), broken},
		{"a connection the pool found dead", driver.ErrBadConn, broken},
		{"a connection that broke in use", fmt.Errorf("commit: %w", mysql.ErrInvalidConn), broken},
		{"an end of the stream", io.ErrUnexpectedEOF, broken},
		{"a server that is not there", &net.OpError{Op: "dial", Err: errors.New("refused")}, broken},
		{"anything else", errors.New("what"), lasting},
	} {
		require.Equal(t, tt.want, troubleOf(tt.err), tt.name)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	deadlock := &mysql.MySQLError{Number: 1213}
	for _, tt := range []struct {
		name  string
		err   error
		takes time.Duration // of each try
		tries int
		text  string
	}{
		{"a conflict", deadlock, 0, conflictTries, "1213"},
		{"a cut", mysql.ErrInvalidConn, 0, cutTries, "the connection was cut"},
		{"a server that hangs", mysql.ErrInvalidConn, 3 * time.Second, 1, "the connection was cut"},
		{"a refused connection", &net.OpError{Op: "dial", Err: errors.New("refused")}, 0, cutTries, "refused"},
		{"a full disk", &mysql.MySQLError{Number: 1114}, 0, 1, "1114"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				began := time.Now()
				err := new(DB).retry(t.Context(), func() error {
					tries++
					time.Sleep(tt.takes)
					return tt.err
				})
				require.ErrorIs(t, err, tt.err)
				require.ErrorContains(t, err, tt.text)
				require.Equal(t, tt.tries, tries)
				require.Less(t, time.Since(began), 4*time.Second, "the caller must hear of it soon")
			})
		})
	}
}

func TestRetry_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := new(DB).retry(ctx, func() error {
		tries++
		cancel()
		return driver.ErrBadConn
	})
	require.ErrorIs(t, err, driver.ErrBadConn)
	require.Equal(t, 1, tries)
}
