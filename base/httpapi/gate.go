package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/service"
)

// drainTimeout is how long requests under way may take at a stop. It is short: the parts that stop after the gate
// need most of the 15 s.
const drainTimeout = 2 * time.Second

// gate lets requests to the API in while the parts behind it work. It is a part of its own, which starts last and
// stops first, while health and metrics are answered from the first start to the last stop.
type gate struct {
	ready *readiness
	delay time.Duration

	mu       sync.Mutex
	open     bool
	stopped  bool
	inFlight int
	idle     chan struct{} // closed when the gate is shut and nothing is in flight
}

var _ service.Service = (*gate)(nil)

func newGate(ready *readiness, delay time.Duration) *gate {
	return &gate{ready: ready, delay: delay, idle: make(chan struct{})}
}

// Start lets requests in.
func (g *gate) Start(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.open = true
		g.ready.set(serving)
	}
	return nil
}

// Stop tells load balancers to look elsewhere, gives them time to, and waits for the requests under way.
func (g *gate) Stop() {
	g.mu.Lock()
	first, wasOpen := !g.stopped, g.open
	g.stopped = true
	g.mu.Unlock()
	if !first {
		g.wait()
		return
	}
	if wasOpen && g.delay > 0 {
		g.ready.set(draining)
		timer := time.NewTimer(g.delay)
		<-timer.C
	}
	g.ready.set(stopping)
	g.mu.Lock()
	g.open = false
	if g.inFlight == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	g.wait()
}

func (g *gate) wait() {
	timer := time.NewTimer(g.delay + drainTimeout)
	defer timer.Stop()
	select {
	case <-g.idle:
	case <-timer.C:
	}
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		g.inFlight++
	}
	return g.open
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	if !g.open && g.inFlight == 0 {
		close(g.idle)
	}
}

func (g *gate) handle(c *gin.Context) {
	if !g.enter() {
		c.Header("Retry-After", "5")
		answer(c, NewProblem(http.StatusServiceUnavailable,
			"The program is starting or stopping: /readyz tells when it takes requests."))
		return
	}
	defer g.leave()
	c.Next()
}
