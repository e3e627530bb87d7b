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
	// bodyTimeout is the time in which a request's body must arrive. It has at most api.body_limit bytes.
	bodyTimeout = 5 * time.Second
	// unreadTimeout is the time in which the rest of an unread body must arrive: a refused request must not keep its
	// connection.
	unreadTimeout = time.Second
)

// timedBody is a request's body that must arrive within bodyTimeout. Without a connection that has deadlines, as in
// tests, there is no limit.
type timedBody struct {
	io.ReadCloser

	connection *http.ResponseController
	done       bool // it was read to its end, or reading it failed
}

// timeBody limits the time in which a request's body arrives. Call the returned function after the answer.
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
	deadline := time.Now().Add(limit) //nolint:forbidigo // The network measures its deadlines by this clock.
	_ = b.connection.SetReadDeadline(deadline)
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.done = true
		return n, NewProblem(http.StatusRequestTimeout, "The body did not arrive within %v.", bodyTimeout)
	}
	if err != nil && !b.done {
		b.done = true
		// The deadline would otherwise end the request itself, which has a longer limit.
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
