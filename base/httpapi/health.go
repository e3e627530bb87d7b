package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
)

// CheckFunc tells why a part cannot do its work now, or nil. It must return when ctx ends.
type CheckFunc func(ctx context.Context) error

const (
	checkTimeout = 2 * time.Second
	// checkAge is how long a verdict is given again, so that callers without a token cannot make the server ask the
	// database as often as they like.
	checkAge = time.Second
)

type phase string

const (
	starting phase = "starting"
	serving  phase = "serving"
	draining phase = "draining" // requests are still taken, but no more should be sent
	stopping phase = "stopping"
)

// readiness answers whether requests should be sent here.
type readiness struct {
	judging sync.Mutex // held while the checks are asked: those who come meanwhile share the verdict
	mu      sync.Mutex // guards what is below
	phase   phase
	checks  []check
	verdict *verdict
	at      time.Time
}

type check struct {
	name string
	ask  CheckFunc
}

type verdict struct {
	Ready  bool          `json:"ready"`
	Phase  phase         `json:"phase"`
	Checks []checkResult `json:"checks"`
}

type checkResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

func (r *readiness) add(name string, ask CheckFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name: name, ask: ask})
}

func (r *readiness) set(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
	r.verdict = nil
}

// judge asks all checks at once, each for at most checkTimeout. Parts are not asked before they have started nor
// after they were told to stop: they could not answer.
func (r *readiness) judge(ctx context.Context) *verdict {
	r.judging.Lock()
	defer r.judging.Unlock()
	r.mu.Lock()
	if r.verdict != nil && clock.Since(r.at) < checkAge {
		defer r.mu.Unlock()
		return r.verdict
	}
	now := r.phase
	checks := r.checks
	r.mu.Unlock()

	v := &verdict{Ready: now == serving, Phase: now, Checks: make([]checkResult, len(checks))}
	// A caller that hangs up must not leave "not ready" to the next one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, c := range checks {
		v.Checks[i] = checkResult{Name: c.name, Reason: string(now)}
		if now != serving {
			continue
		}
		wg.Go(func() {
			err := c.ask(ctx)
			v.Checks[i] = checkResult{Name: c.name, OK: err == nil}
			if err != nil {
				v.Checks[i].Reason = err.Error()
			}
		})
	}
	wg.Wait()
	for _, c := range v.Checks {
		v.Ready = v.Ready && c.OK
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == now {
		r.verdict, r.at = v, clock.Mark()
	}
	return v
}

func (r *readiness) handle(c *gin.Context) {
	v := r.judge(c.Request.Context())
	status := http.StatusOK
	if !v.Ready {
		status = http.StatusServiceUnavailable
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(status, v)
}
