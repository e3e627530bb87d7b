package mysql8

import (
	"context"
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
	"github.com/stretchr/testify/require"

	"github.com/sirupsen/logrus"
)

// rewrites are the places where go-mysql-server does not take what MySQL 8 takes. Each is replaced by another spelling
// of the same.
var rewrites = []struct{ mysql, here, because string }{
	{"KEY account (", "KEY `account` (", "ACCOUNT is no reserved word in MySQL 8"},
}

// serverProcess is a MySQL 8 in this process.
type serverProcess struct {
	addr string

	mu      sync.Mutex
	refused map[string]string // statements that the server did not take, and why
}

func startServer(t *testing.T) *serverProcess {
	t.Helper()
	logrus.SetLevel(logrus.ErrorLevel)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &serverProcess{addr: listener.Addr().String(), refused: map[string]string{}}
	provider := memory.NewDBProvider()
	s, err := server.NewServerWithHandler(
		server.Config{Protocol: "tcp", Address: p.addr, Listener: listener, Version: "8.0.36"},
		sqle.NewDefault(provider), sql.NewContext, memory.NewSessionBuilder(provider), nil,
		func(h mysql.Handler) (mysql.Handler, error) { return &handler{Handler: h, process: p}, nil },
	)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Start() }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		<-served
	})
	return p
}

// handler rewrites statements on their way to the server and notes those that it refuses.
type handler struct {
	mysql.Handler
	process *serverProcess
}

func (h *handler) ComQuery(ctx context.Context, c *mysql.Conn, text string, callback mysql.ResultSpoolFn) error {
	return h.process.note(text, h.Handler.ComQuery(ctx, c, rewrite(text), callback))
}

func (h *handler) ComMultiQuery(ctx context.Context, c *mysql.Conn, text string, callback mysql.ResultSpoolFn) (string, error) {
	rest, err := h.Handler.ComMultiQuery(ctx, c, rewrite(text), callback)
	return rest, h.process.note(text, err)
}

func (h *handler) ComPrepare(ctx context.Context, c *mysql.Conn, text string, data *mysql.PrepareData) ([]*query.Field, error) {
	fields, err := h.Handler.ComPrepare(ctx, c, rewrite(text), data)
	return fields, h.process.note(text, err)
}

func rewrite(text string) string {
	for _, r := range rewrites {
		text = strings.ReplaceAll(text, r.mysql, r.here)
	}
	return text
}

func (p *serverProcess) note(text string, err error) error {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused[text] = err.Error()
	}
	return err
}
