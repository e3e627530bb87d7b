package e2e

import (
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

// recorder is between a deployment and its MySQL, in the place of a sharding proxy. It records the text of each
// statement that passes.
type recorder struct {
	listener net.Listener
	server   string
	// words of statements that it refuses, as a proxy refuses statements that it cannot parse or plan
	unknown []string

	mu         sync.Mutex
	statements map[string]bool
	refused    map[string]bool
}

// record returns a recorder of a database's statements, and the settings that reach the database through it.
// Statements with an unknown word are refused.
func record(t *testing.T, d sqldb.Database, unknown ...string) (*recorder, sqldb.Database) {
	t.Helper()
	dsn, err := mysql.ParseDSN(d.Writer.Reveal())
	require.NoError(t, err)
	r := &recorder{server: dsn.Addr, unknown: unknown, statements: map[string]bool{}, refused: map[string]bool{}}
	r.listener, err = net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It ends with the test.
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.listener.Close() })
	go func() {
		for {
			client, err := r.listener.Accept()
			if err != nil {
				return
			}
			go r.pass(client)
		}
	}()
	dsn.Addr = r.listener.Addr().String()
	d.Writer = secret.NewText(dsn.FormatDSN())
	return r, d
}

// all returns the statements that have passed, each once.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.statements))
}

// refusals returns the statements that were refused, each once.
func (r *recorder) refusals() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.refused))
}

// note records a statement and reports whether it passes.
func (r *recorder) note(text string) bool {
	unknown := slices.ContainsFunc(r.unknown, func(word string) bool { return strings.Contains(text, word) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if unknown {
		r.refused[text] = true
	} else {
		r.statements[text] = true
	}
	return !unknown
}

func (r *recorder) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.server) //nolint:noctx // It ends with its client.
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		_, _ = io.Copy(client, server)
	}()
	for {
		// A packet has its length in three bytes and its number within the command; a command begins with its kind.
		var head [4]byte
		if _, err := io.ReadFull(client, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.LittleEndian.Uint32(append(head[:3:3], 0)))
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		const query, prepare = 0x03, 0x16
		if head[3] == 0 && len(body) > 0 && (body[0] == query || body[0] == prepare) {
			text := string(body[1:])
			if !r.note(text) {
				// The server is idle until the client has its answer, so nobody else writes to the client now.
				if _, err := client.Write(refusal); err != nil {
					return
				}
				continue
			}
		}
		if _, err := server.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

// refusal returns the packet of error 1235, ER_NOT_SUPPORTED_YET, as the answer to a command.
var refusal = func() []byte {
	const message = "unsupported"
	body := append([]byte{0xff, 1235 & 0xff, 1235 >> 8, '#'}, "42000"+message...)
	return append([]byte{byte(len(body)), 0, 0, 1}, body...)
}()
