package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/service"
)

// drainTimeout is the time for which a stop waits for requests under way. It is short: the parts that stop after the
// gate need most of the 15 s.
const drainTimeout = 2 * time.Second

// gate admits requests to the API while all other parts work. It is a separate part, which starts last and stops first.
// Health and metrics are answered from the first start to the last stop.
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

// Start admits requests.
func (g *gate) Start(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.open = true
		g.ready.set(serving)
	}
	return nil
}

// Stop reports to load balancers that no more requests should be sent, waits for the delay, shuts the gate and waits
// for the requests under way.
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
			"The program is starting or stopping: it takes requests when /readyz answers 200."))
		return
	}
	defer g.leave()
	c.Next()
}
