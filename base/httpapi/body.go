package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	// bodyTimeout is how long a request's body may take to arrive. It has at most api.body_limit bytes.
	bodyTimeout = 5 * time.Second
	// unreadTimeout is how long the rest of a body that no handler reads may take: a request that was refused must not
	// keep its connection.
	unreadTimeout = time.Second
)

// timedBody is a request's body that must arrive within bodyTimeout. Where the connection knows no deadlines, as in
// tests without one, there is no limit.
type timedBody struct {
	io.ReadCloser

	connection *http.ResponseController
	done       bool // nothing more is read from it
}

// timeBody limits the time of a request's body. The function that it returns must be called when the request has been
// answered.
func timeBody(c *gin.Context) (answered func()) {
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		return func() {}
	}
	body := &timedBody{ReadCloser: c.Request.Body, connection: http.NewResponseController(c.Writer)}
	body.allow(bodyTimeout)
	c.Request.Body = body
	return func() {
		if !body.done {
			body.allow(unreadTimeout)
		}
	}
}

func (b *timedBody) allow(limit time.Duration) {
	_ = b.connection.SetReadDeadline(time.Now().Add(
		limit)) //nolint:forbidigo // The network measures its deadlines by this clock.
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.done = true
		return n, NewProblem(http.StatusRequestTimeout, "The body did not arrive within %v.", bodyTimeout)
	}
	if err != nil && !b.done {
		b.done = true
		// The deadline would otherwise end the request itself, whose own limit is longer.
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
