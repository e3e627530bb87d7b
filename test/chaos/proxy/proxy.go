// Package proxy is a TCP proxy that disturbs connections on request. It is between one process and one service, so
// that a test can cut off only this process from only this service.
package proxy

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction is a direction in which bytes flow.
type Direction int

// The directions. Both is for orders only.
const (
	Up   Direction = iota // from the client to the server
	Down                  // from the server to the client
	Both
)

// Proxy passes connections on to a server. At first it passes everything.
type Proxy struct {
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	target  string
	mode    mode
	changed chan struct{} // closed when the mode changes
	links   map[*link]struct{}
	trigger Trigger
	answer  AnswerFunc
	struck  int
}

// mode is how connections are treated now.
type mode struct {
	refused bool
	held    [2]bool // by direction
	delay   time.Duration
}

// Trigger reports whether the connection must be cut at a piece that a client sends.
type Trigger func(piece []byte) bool

// AnswerFunc returns the proxy's own answer to a piece that a client sends, or nil to pass the piece on to the server.
type AnswerFunc func(piece []byte) []byte

// Listen starts a proxy on an address. Call Target before the first client connects.
func Listen(address string) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy: %w", err)
	}
	p := &Proxy{listener: listener, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr returns the address on which the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target sets the server for new connections.
func (p *Proxy) Target(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = address
}

// Close ends all connections and the proxy.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
	p.done.Wait()
}

// Pass ends all disturbances. Held bytes are passed on.
func (p *Proxy) Pass() {
	p.change(func(m *mode) { *m = mode{} })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.answer = nil, nil
}

// Cut closes all connections and refuses new ones until Pass.
func (p *Proxy) Cut() {
	p.change(func(m *mode) { m.refused = true })
	p.Break()
}

// Break closes all connections; new ones are passed on.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck += len(p.links)
	for l := range p.links {
		l.close()
	}
}

// Hold lets no bytes through in a direction until Pass: connections stay open, and new ones are accepted. No bytes are
// lost, as on a network that drops packets for a while.
func (p *Proxy) Hold(d Direction) {
	p.change(func(m *mode) {
		m.held[Up] = m.held[Up] || d != Down
		m.held[Down] = m.held[Down] || d != Up
	})
}

// Delay delays each piece by the duration, in both directions, until Pass.
func (p *Proxy) Delay(by time.Duration) { p.change(func(m *mode) { m.delay = by }) }

// CutAnswer cuts the next connection on which a client sends a piece that trigger is true for: the piece reaches the
// server, its answer does not reach the client. It strikes once.
func (p *Proxy) CutAnswer(trigger Trigger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger = trigger
}

// Answer makes the proxy answer instead of the server, until Pass: the server never receives such a piece.
func (p *Proxy) Answer(answer AnswerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// Struck returns how many connections and pieces were disturbed so far.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

func (p *Proxy) change(set func(*mode)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set(&p.mode)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refused, target := p.mode.refused, p.target
		if refused {
			p.struck++
		}
		p.mu.Unlock()
		if refused {
			reset(client)
			continue
		}
		p.done.Go(func() { p.serve(client, target) })
	}
}

// serve passes one connection on until either side ends it.
func (p *Proxy) serve(client net.Conn, target string) {
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp", target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server, closed: make(chan struct{})}
	p.mu.Lock()
	if p.mode.refused { // since it was accepted
		l.close()
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pump(l, Up) })
	both.Go(func() { p.pump(l, Down) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// link is one connection with its two sides.
type link struct {
	client, server net.Conn
	closeOnce      sync.Once
	closed         chan struct{}
	swallow        bool // the next answer is not passed on; guarded by the proxy's mutex
}

// close resets both sides, as when the network breaks the connection.
func (l *link) close() {
	l.closeOnce.Do(func() {
		close(l.closed)
		reset(l.client)
		reset(l.server)
	})
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// end closes both sides cleanly after one of them closed.
func (l *link) end() {
	l.closeOnce.Do(func() {
		close(l.closed)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// pump passes bytes in one direction.
func (p *Proxy) pump(l *link, d Direction) {
	defer l.end()
	from, to := l.client, l.server
	if d == Down {
		from, to = to, from
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.admit(l, d, buffer[:n]) {
				l.close()
				return
			}
			target, piece := to, buffer[:n]
			if answer := p.inPlace(d, piece); answer != nil {
				target, piece = from, answer
			}
			if _, err := target.Write(piece); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// inPlace returns the proxy's own answer, or nil.
func (p *Proxy) inPlace(d Direction, piece []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == Down || p.answer == nil {
		return nil
	}
	answer := p.answer(piece)
	if answer != nil {
		p.struck++
	}
	return answer
}

// admit waits until a piece may pass. It returns false when the connection must be cut instead.
func (p *Proxy) admit(l *link, d Direction, piece []byte) bool {
	delayed, counted := false, false
	for {
		p.mu.Lock()
		m, changed := p.mode, p.changed
		if (m.held[d] || m.delay > 0) && !counted {
			p.struck++
			counted = true
		}
		cut := d == Down && l.swallow
		if d == Up && !m.held[d] && p.trigger != nil && p.trigger(piece) {
			p.trigger, l.swallow = nil, true
			p.struck++
		}
		p.mu.Unlock()
		var wait <-chan time.Time
		switch {
		case cut:
			return false
		case m.held[d]:
		case m.delay > 0 && !delayed:
			timer := time.NewTimer(m.delay)
			defer timer.Stop()
			wait, changed, delayed = timer.C, nil, true
		default:
			return true
		}
		select {
		case <-wait:
		case <-changed:
		case <-l.closed:
			return false
		}
	}
}
