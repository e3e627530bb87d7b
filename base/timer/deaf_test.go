package timer

import (
	"context"
	"io"
	"net"
)

// deafDialer connects to a server that reads everything and never answers.
func deafDialer(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, theirs)
		theirs.Close()
	}()
	return ours, nil
}
