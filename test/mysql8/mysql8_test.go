// Package mysql8 runs adsync's SQL on a MySQL 8 dialect.
//
// The server is go-mysql-server, a MySQL 8 in Go that keeps its tables in memory. It shows that every statement parses
// and means what it says there. It has neither row locks nor isolation, so that what rests on them is tested on MariaDB
// (make test-services), and it is reached here by one connection per database at a time.
package mysql8

import (
	"context"
	"log"
	"net"
	"os"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/stretchr/testify/require"
)

func startServer(t *testing.T) string {
	t.Helper()
	provider := memory.NewDBProvider()
	engine := sqle.NewDefault(provider)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, err := server.NewServer(server.Config{Protocol: "tcp", Address: listener.Addr().String(), Listener: listener}, engine, sql.NewContext, memory.NewSessionBuilder(provider), nil)
	require.NoError(t, err)
	go func() { log.Println(s.Start()) }()
	t.Cleanup(func() { s.Close() })
	return listener.Addr().String()
}

func TestServe(t *testing.T) {
	if os.Getenv("MYSQL8_SERVE") == "" {
		t.SkipNow()
	}
	t.Log(startServer(t))
	os.WriteFile("/tmp/e2e-mysql8.addr", []byte(startServer(t)), 0o600)
	<-context.Background().Done()
}
