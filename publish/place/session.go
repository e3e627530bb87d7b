package place

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errClosed means that the Place was closed.
var errClosed = errors.New("the destination was closed")

// session keeps one connection of a client to a server, for one call at a time. It connects when a call needs it, and
// again after a failure.
type session[C any] struct {
	address string
	timeout time.Duration
	// open logs in over a connection of lines.dial.
	open func(ctx context.Context) (C, error)
	// alive checks a connection that may have been idle for long.
	alive func(C) error
	// release frees what the client holds, after its network connections were closed.
	release func(C)
	// answered reports whether an error is a server's answer, after which the connection can be used further.
	answered func(error) bool

	lines lines
	turn  chan struct{} // has one element while no call runs; the call holds the fields below

	client C
	up     bool
}

// start makes a session usable.
func (s *session[C]) start() {
	s.turn = make(chan struct{}, 1)
	s.turn <- struct{}{}
}

// do calls the function with the client, after other calls. An error to connect names the address.
func (s *session[C]) do(ctx context.Context, call func(C) error) error {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.up && s.guarded(ctx, func(context.Context) error { return s.alive(s.client) }) != nil {
		s.drop()
	}
	if !s.up {
		err := s.guarded(ctx, func(ctx context.Context) (err error) {
			s.client, err = s.open(ctx)
			return err
		})
		if err != nil {
			s.lines.cut()
			return fmt.Errorf("connect to %s: %w", s.address, err)
		}
		s.up = true
	}
	err := s.guarded(ctx, func(context.Context) error { return call(s.client) })
	if err != nil && !s.answered(err) {
		s.drop()
	}
	return err
}

// guarded runs a step, and closes all connections when ctx ends or no byte has moved for the timeout.
func (s *session[C]) guarded(ctx context.Context, step func(context.Context) error) error {
	ctx, w, stop := watched(ctx, s.timeout)
	defer stop()
	s.lines.use(w)
	defer s.lines.use(nil)
	cut := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(cut)
		s.lines.cut()
	})
	defer func() {
		if !keep() {
			<-cut
		}
	}()
	return why(ctx, step(ctx))
}

// drop ends the connection. The caller has the turn.
func (s *session[C]) drop() {
	s.lines.cut()
	if s.up {
		s.release(s.client)
	}
	var none C
	s.client, s.up = none, false
}

// close ends the connection and makes every other call fail.
func (s *session[C]) close() error {
	s.lines.shut()
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	s.drop()
	return nil
}

// lines are the network connections of a session.
type lines struct {
	mu     sync.Mutex
	closed bool
	open   map[*line]struct{}
	ended  []*line // of the running step
	watch  *watch  // of the running step
}

// use sets the running step, nil after it.
func (l *lines) use(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = w
	for _, c := range l.ended {
		_ = c.Conn.Close()
		delete(l.open, c)
	}
	l.ended = nil
}

// dial connects for the running step.
func (l *lines) dial(address string) (*line, error) {
	l.mu.Lock()
	ctx := l.watch.ctx
	l.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || ctx.Err() != nil {
		_ = conn.Close()
		return nil, errClosed
	}
	if l.open == nil {
		l.open = map[*line]struct{}{}
	}
	out := &line{Conn: conn, of: l}
	l.open[out] = struct{}{}
	return out, nil
}

// cut closes all connections.
func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close()
	}
	clear(l.open)
}

// shut closes all connections and refuses new ones.
func (l *lines) shut() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cut()
}

func (l *lines) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.touch()
}

// line is a network connection whose traffic counts as progress.
type line struct {
	net.Conn
	of *lines
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.of.touch()
	}
	return n, err
}

// Write implements net.Conn.
func (l *line) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	if n > 0 {
		l.of.touch()
	}
	return n, err
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// end ends the stream to the server. The connection is closed after the running step.
func (l *line) end() {
	if tcp, ok := l.Conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.ended = append(l.of.ended, l)
}
