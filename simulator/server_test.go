package simulator

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// onePipe is a listener with one connection.
type onePipe struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *onePipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *onePipe) Close() error { close(p.closed); return nil }

func (p *onePipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func TestServe_ClosesAConnectionWhoseBodyDoesNotArrive(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"an order": "POST /_sim/clock HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"a call": "POST /oceanengine/open_api/oauth2/access_token/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
			"100\r\n\r\n{",
		"no path": "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := newSim(t, Config{}).Handler()
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				server, pipe := &http.Server{Handler: handler},
					&onePipe{connections: make(chan net.Conn, 1), closed: make(chan struct{})}
				pipe.connections <- conn
				served := make(chan error)
				go func() { served <- server.Serve(pipe) }()
				began := time.Now()
				_, err := io.WriteString(client, request)
				require.NoError(t, err)
				reader := bufio.NewReader(client)
				answer, err := http.ReadResponse(reader, nil)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, answer.Body)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				_, err = reader.ReadByte()
				require.ErrorIs(t, err, io.EOF, "the connection is closed")
				require.LessOrEqual(t, time.Since(began), bodyTimeout)
				require.NoError(t, server.Close())
				require.ErrorIs(t, <-served, http.ErrServerClosed)
			})
		})
	}
}
