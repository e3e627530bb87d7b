package sqldb

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
		{"a table altered since the transaction began", server(1412), conflict},
		{"a write conflict of group replication", server(3101), conflict},
		{"a write conflict of TiDB", server(9007), conflict},
		{"a full table", server(1114), unable},
		{"a full disk", server(1021), unable},
		{"no memory", server(1041), unable},
		{"a statement that takes too long", server(1969), unable},
		{"a right that is missing", server(1142), unable},
		{"a broken statement", server(1064), lasting},
		{"a missing table", server(1146), lasting},
		{"a server that stops", server(1053), broken},
		{"an aborted connection", server(1152), broken},
		{"too many connections", server(1040), broken},
		{"too many connections of the user", server(1203), broken},
		{"a user's own limit of connections", server(1226), broken},
		{"a group without a majority", server(3100), broken},
		{"a node of Galera that has not joined", server(1047), broken},
		{"a server in offline mode", server(3032), broken},
		{"a connection out of step", mysql.ErrPktSync, broken},
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
		{"too many connections of the user", &mysql.MySQLError{Number: 1203}, 0, cutTries, "1203"},
		{"a full disk", &mysql.MySQLError{Number: 1114}, 0, 1, "1114"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				began := time.Now()
				err := new(DB).Retry(t.Context(), func() error {
					tries++
					time.Sleep(tt.takes)
					return tt.err
				})
				require.ErrorIs(t, err, tt.err)
				require.ErrorContains(t, err, tt.text)
				require.Equal(t, tt.tries, tries)
				require.Less(t, time.Since(began), 4*time.Second, "the caller must get the error soon")
			})
		})
	}
}

func TestRetry_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := new(DB).Retry(ctx, func() error {
		tries++
		cancel()
		return driver.ErrBadConn
	})
	require.ErrorIs(t, err, driver.ErrBadConn)
	require.Equal(t, 1, tries)
}

func TestUnavailable_IsNoMistakeOfTheStatement(t *testing.T) {
	t.Parallel()
	server := func(number uint16, text string) error { return &mysql.MySQLError{Number: number, Message: text} }
	for _, tt := range []struct {
		name string
		err  error
		want string // empty means that it is available
	}{
		{"nothing", nil, ""},
		{"a broken statement", server(1064, "syntax"), ""},
		{"a key that exists", server(1062, "duplicate"), ""},
		{"a deadline of the caller", fmt.Errorf("read: %w", &connectError{"db:3306/adsync", context.DeadlineExceeded}), ""},
		{"too many connections", fmt.Errorf("order: %w",
			&connectError{"db:3306/adsync", server(1040, "Too many connections")}), "Error 1040: Too many connections"},
		{"a conflict that was tried again in vain", server(1213, "Deadlock found"), "Error 1213: Deadlock found"},
		{"a full disk", server(1021, "Disk full"), "Error 1021: Disk full"},
		{"a wrong password", &connectError{"db:3306/adsync", server(1045, "Access denied")}, "Error 1045: Access denied"},
		{"a server that is not there", &connectError{"db:3306/adsync", errors.New("dial tcp: connection refused")},
			"connect to db:3306/adsync: dial tcp: connection refused"},
		{"a cut", fmt.Errorf("write: %w", mysql.ErrInvalidConn), "the connection was cut, or the server only takes reads"},
		{"a commit of unknown outcome", &unknownCommitError{mysql.ErrInvalidConn},
			"the connection was cut during the commit"},
	} {
		reason, unavailable := Unavailable(tt.err)
		require.Equal(t, tt.want != "", unavailable, tt.name)
		require.Equal(t, tt.want, reason, tt.name)
	}
}

func TestRefused_IsWhatWaitingDoesNotFix(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint16]bool{1045: true, 1130: true, 1142: true, 1862: true, 3118: true, 4151: true,
		1040: false, 1203: false, 1226: false} {
		require.Equal(t, want, Refused(&connectError{"db", &mysql.MySQLError{Number: number}}), number)
	}
	require.True(t, Refused(&connectError{"db", mysql.ErrNoTLS}))
	require.False(t, Refused(mysql.ErrInvalidConn))
}
