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

// rewrites are the places where go-mysql-server does not take what MySQL 8 takes. Each is replaced by another spelling
// of the same.
var rewrites = []struct{ mysql, here string }{
	// ACCOUNT is a keyword in MySQL 8 and not a reserved one: CREATE TABLE subtask_dead names an index so.
	{"KEY account (", "KEY `account` ("},
	// The variable is not known here, where nobody waits for a row: see turns.
	{"innodb_lock_wait_timeout", "@innodb_lock_wait_timeout"},
}

// mysqlServer is a MySQL 8 in this process.
type mysqlServer struct {
	addr  string
	turns *turns

	mu      sync.Mutex
	refused map[string]string // statements that the server did not understand, and what it said
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

// handler rewrites statements on their way to the server and notes those that it refuses.
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

// turns has transactions run one after the other: the server has no isolation, and the later commit of two would take
// back what the earlier one wrote.
type turns struct {
	busy   chan struct{}
	mu     sync.Mutex
	holder *mysql.Conn // the connection that has a transaction open
}

func newTurns() *turns { return &turns{busy: make(chan struct{}, 1)} }

// take waits for the connection's turn and returns what ends it, which is not before the end of its transaction.
func (t *turns) take(c *mysql.Conn, text string) (done func()) {
	if strings.HasPrefix(text, "SELECT GET_LOCK(") || strings.Contains(text, "JSON_TABLE(") {
		// The holder of a lock needs turns to come to an end; and what is refused in any case need not wait, as a
		// connection's question does.
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

// note remembers a statement that the server does not understand or cannot carry out, which it says with the codes 1064
// and 1105. Other errors, such as a table that is not there, are answers to a statement that was understood.
func (m *mysqlServer) note(text string, err error) error {
	if strings.Contains(text, "JSON_TABLE(") {
		return err // Each pool asks once whether it is understood. It is not here, though MySQL 8 does.
	}
	if e, ok := errors.AsType[*mysql.SQLError](err); ok && (e.Num == mysql.ERParseError || e.Num == mysql.ERUnknownError) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused[text] = e.Message
	}
	return err
}
