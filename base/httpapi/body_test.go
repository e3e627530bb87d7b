package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
)

// slowBody sends a request whose body does not arrive, over a connection without a network. It returns the answer, and
// the time for which the server kept the connection.
func slowBody(t *testing.T, b *bundle, handler http.Handler, request string) (status int, kind, problem string,
	kept time.Duration) {
	t.Helper()
	client, server := net.Pipe()
	accepted := make(chan net.Conn, 1)
	accepted <- server
	l, err := b.listen(t.Context(), "a test", "127.0.0.1:0", handler)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.http.Serve(&onePipe{connections: accepted, closed: make(chan struct{})})
	}()
	defer func() {
		require.NoError(t, l.http.Close())
		<-done
	}()
	began := time.Now()
	_, err = io.WriteString(client, request)
	require.NoError(t, err)
	reader := bufio.NewReader(client)
	answer, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	_, err = reader.ReadByte()
	require.ErrorIs(t, err, io.EOF, "the connection is closed")
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(text), time.Since(began)
}

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

func TestBody_ThatDoesNotArriveEndsTheRequest(t *testing.T) {
	t.Parallel()
	post := func(path, token string) string {
		return fmt.Sprintf(
			"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
				"application/json\r\nContent-Length: 100\r\n\r\n{\"task\":", path, token)
	}
	tests := []struct {
		name, request string
		status        int
		within        time.Duration
	}{
		{"of a caller with a token", post("/api/run", adminToken), http.StatusRequestTimeout, bodyTimeout + unreadTimeout},
		{"of a caller without one", post("/api/run", "wrong"), http.StatusUnauthorized, 2 * unreadTimeout},
		{"of a caller whose role is too low", post("/api/run", viewerToken), http.StatusForbidden, 2 * unreadTimeout},
		{"to a path that does not exist", post("/nothing", adminToken), http.StatusNotFound, 2 * unreadTimeout},
		{"to a path that takes no body", post("/healthz", adminToken), http.StatusMethodNotAllowed, 2 * unreadTimeout},
		{"of a page of another site", strings.Replace(post("/api/run", adminToken), "\r\n\r\n",
			"\r\nSec-Fetch-Site: cross-site\r\n\r\n", 1),
			http.StatusForbidden, 2 * unreadTimeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withTokens).open(t)
			synctest.Test(t, func(t *testing.T) {
				status, kind, text, kept := slowBody(t, b, b.Handler(), test.request)
				require.Equal(t, test.status, status, text)
				require.Equal(t, "application/problem+json", kind)
				require.LessOrEqual(t, kept, test.within)
			})
		})
	}
}

// The listener of metrics reads no body, and any caller can send one.
func TestBody_ToTheListenerOfMetricsEndsTheRequest(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusMethodNotAllowed} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := setup(t, withTokens).open(t)
			synctest.Test(t, func(t *testing.T) {
				status, _, text, kept := slowBody(t, b, b.metricsAlone(), method+
					" /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
				require.Equal(t, want, status, text)
				require.LessOrEqual(t, kept, 2*unreadTimeout)
			})
		})
	}
}

// longWork reads a body and then works for longer than a body may take.
func longWork(c *gin.Context) error {
	var body order
	if err := Bind(c, orderSchema, &body); err != nil {
		return err
	}
	select {
	case <-c.Request.Context().Done():
		return c.Request.Context().Err()
	case <-time.After(2 * bodyTimeout):
		c.Status(http.StatusOK)
		return nil
	}
}

// The deadline of a body must not end a request whose work takes longer.
func TestBody_ThatHasArrivedSetsNoDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens).open(t)
	b.Register(Route{"POST", "/api/long", Admin, longWork})
	synctest.Test(t, func(t *testing.T) {
		request := "POST /api/long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + adminToken +
			"\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"task\": \"t\"}"
		status, _, text, _ := slowBody(t, b, b.Handler(), request)
		require.Equal(t, http.StatusOK, status, text)
	})
}
