package mysql8

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/proto/query"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
)

// rewrites replaces what MySQL 8 accepts and go-mysql-server does not by another spelling with the same meaning.
var rewrites = []struct{ mysql, here string }{
	// ACCOUNT is a keyword in MySQL 8, but not reserved: CREATE TABLE subtask_dead names an index so.
	{"KEY account (", "KEY `account` ("},
	// The server does not have this variable. No statement waits for a row here: see turns.
	{"innodb_lock_wait_timeout", "@innodb_lock_wait_timeout"},
}

// mysqlServer is a MySQL 8 in this process.
type mysqlServer struct {
	addr  string
	turns *turns

	mu      sync.Mutex
	refused map[string]string // statements that the server did not understand, with its errors
}

func startServer(t *testing.T) *mysqlServer {
	t.Helper()
	logrus.SetLevel(logrus.ErrorLevel)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &mysqlServer{addr: listener.Addr().String(), turns: newTurns(), refused: map[string]string{}}
	provider := memory.NewDBProvider()
	s, err := server.NewServerWithHandler(
		server.Config{Protocol: "tcp", Address: m.addr, Listener: listener, Version: "8.0.36"},
		sqle.NewDefault(provider), sql.NewContext, memory.NewSessionBuilder(provider), nil,
		func(h mysql.Handler) (mysql.Handler, error) { return &handler{Handler: h, server: m}, nil },
	)
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Start() // It ends with an error when its listener is closed.
	}()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		<-served
	})
	return m
}

// handler rewrites statements on their way to the server, and records those that it refuses.
type handler struct {
	mysql.Handler
	server *mysqlServer
}

func (h *handler) ComQuery(ctx context.Context, c *mysql.Conn, text string, callback mysql.ResultSpoolFn) error {
	defer h.server.turns.take(c, text)()
	return h.server.note(text, h.Handler.ComQuery(ctx, c, rewrite(text), callback))
}

func (h *handler) ComMultiQuery(ctx context.Context, c *mysql.Conn, text string, callback mysql.ResultSpoolFn) (string,
	error) {
	defer h.server.turns.take(c, text)()
	rest, err := h.Handler.ComMultiQuery(ctx, c, rewrite(text), callback)
	return rest, h.server.note(text, err)
}

func (h *handler) ComPrepare(ctx context.Context, c *mysql.Conn, text string, data *mysql.PrepareData) ([]*query.Field,
	error) {
	fields, err := h.Handler.ComPrepare(ctx, c, rewrite(text), data)
	return fields, h.server.note(text, err)
}

func (h *handler) ConnectionClosed(c *mysql.Conn) {
	h.server.turns.leave(c)
	h.Handler.ConnectionClosed(c)
}

// turns makes transactions run one after the other: the server has no isolation, so the later commit of two would undo
// the writes of the earlier one.
type turns struct {
	busy   chan struct{}
	mu     sync.Mutex
	holder *mysql.Conn // the connection that has a transaction open
}

func newTurns() *turns { return &turns{busy: make(chan struct{}, 1)} }

// take waits for the connection's turn. The returned function ends the turn, but not before the connection's
// transaction has ended.
func (t *turns) take(c *mysql.Conn, text string) (done func()) {
	if strings.HasPrefix(text, "SELECT GET_LOCK(") || strings.Contains(text, "JSON_TABLE(") {
		// The holder of a lock needs turns to finish. JSON_TABLE is refused in any case, so it need not wait.
		return func() {}
	}
	t.mu.Lock()
	inside := t.holder == c
	t.mu.Unlock()
	if !inside {
		t.busy <- struct{}{}
	}
	return func() {
		switch statement := strings.ToUpper(strings.TrimRight(text, "; ")); {
		case statement == "BEGIN" || strings.HasPrefix(statement, "START TRANSACTION"):
			t.mu.Lock()
			t.holder = c
			t.mu.Unlock()
		case inside && (statement == "COMMIT" || statement == "ROLLBACK"):
			t.leave(c)
		case !inside:
			<-t.busy
		}
	}
}

// leave ends the connection's transaction, if it has one.
func (t *turns) leave(c *mysql.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder == c {
		t.holder = nil
		<-t.busy
	}
}

func rewrite(text string) string {
	for _, r := range rewrites {
		text = strings.ReplaceAll(text, r.mysql, r.here)
	}
	return text
}

// note records a statement that the server does not understand or cannot execute: its errors are 1064 and 1105. Other
// errors, such as a missing table, are answers to a statement that was understood.
func (m *mysqlServer) note(text string, err error) error {
	if strings.Contains(text, "JSON_TABLE(") {
		return err // Each pool tries it once. MySQL 8 has it, and this server does not.
	}
	if e, ok := errors.AsType[*mysql.SQLError](err); ok && (e.Num == mysql.ERParseError || e.Num == mysql.ERUnknownError) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused[text] = e.Message
	}
	return err
}
