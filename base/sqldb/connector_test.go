package sqldb

import (
	"context"
	"database/sql"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
)

// silentServer accepts connections and never answers, like a stopped server whose kernel still accepts.
type silentServer struct {
	mu    sync.Mutex
	dials int
	conns []net.Conn
}

func (s *silentServer) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials++
	s.conns = append(s.conns, theirs)
	return ours, nil
}

func (s *silentServer) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

func TestConnector_AllCallersNoticeAHangingServerAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &silentServer{}
		cfg, err := MysqlConfig(secret.NewText("u:s3cret@tcp(db:3306)/adsync"), PatienceDefault)
		require.NoError(t, err)
		cfg.DialFunc = server.dial
		connector, err := newConnector(cfg)
		require.NoError(t, err)
		pool := sql.OpenDB(connector)
		defer pool.Close()
		pool.SetMaxOpenConns(2)

		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, err := pool.ExecContext(context.Background(), "DELETE FROM t")
				require.EqualError(t, err, "connect to db:3306/adsync: no answer within 5s")
			})
		}
		all.Wait()
		require.Equal(t, connectTimeout, time.Since(began), "all of them, not two at a time")
		require.Equal(t, 2, server.dialled())

		require.Error(t, pool.Ping())
		require.Equal(t, 2, server.dialled(), "no dial for a moment")
		time.Sleep(restAfterSilence)
		require.Error(t, pool.Ping())
		require.Equal(t, 3, server.dialled(), "and then it is dialled again")

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(restAfterSilence)
		require.ErrorIs(t, pool.PingContext(short), context.DeadlineExceeded,
			"an impatient caller proves nothing about the server")
		require.NoError(t, connector.recentSilence())
		for _, c := range server.conns {
			_ = c.Close()
		}
	})
}

// valve passes bytes between clients and a server while it is open.
type valve struct {
	mu   sync.Mutex
	open chan struct{} // closed while bytes pass
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = make(chan struct{})
}

func (v *valve) reopen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.open)
}

func (v *valve) passage() chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open
}

// pass copies until the connection ends.
func (v *valve) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		<-v.passage()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// newValve listens in front of a server.
func newValve(t *testing.T, server string) (*valve, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	v := &valve{open: make(chan struct{})}
	close(v.open)
	var copies sync.WaitGroup
	copies.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			copies.Go(func() { v.pass(upstream, client) })
			copies.Go(func() { v.pass(client, upstream) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		copies.Wait()
	})
	return v, listener.Addr().String()
}

func TestPatience_AServerThatStopsIsLeftAndFoundAgain(t *testing.T) {
	t.Parallel()
	server := os.Getenv("ADSYNC_TEST_MYSQL")
	if server == "" {
		t.Skip("needs a server: set ADSYNC_TEST_MYSQL")
	}
	cfg, err := MysqlConfig(secret.NewText(strings.TrimSuffix(server, "/")+"/mysql"), PatienceDefault)
	require.NoError(t, err)
	v, addr := newValve(t, cfg.Addr)
	cfg.Addr = addr
	cfg.ReadTimeout, cfg.WriteTimeout = 0, 0
	d := Database{Driver: MySQL, Writer: secret.NewText(cfg.FormatDSN()), MaxOpenConns: 4, Patience: 2 * time.Second}
	s, err := Open(t.Context(), Config{Config: d, Data: d}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer s.Close()
	var wait string
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT @@innodb_lock_wait_timeout").Row().Scan(&wait))
	require.Equal(t, "1", wait, "less than the patience")
	var name, level string
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')").Row().Scan(&name, &level))
	require.Equal(t, "READ-COMMITTED", level)

	v.shut()
	// Neither has its own deadline: the patience ends them.
	_, err = s.Data.Now(context.Background())
	require.Error(t, err)
	_, err = s.Data.Now(context.Background())
	require.Error(t, err)
	v.reopen()
	require.Eventually(t, func() bool {
		_, err := s.Data.Now(t.Context())
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "work continues automatically")
}
