package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
)

// CheckFunc returns the reason why a part cannot work now, or nil. It should return when ctx ends. A check that does
// not is not waited for, and not called again until it has returned.
type CheckFunc func(ctx context.Context) error

const (
	checkTimeout = 2 * time.Second
	// checkGrace is the extra time for a check to return after its context has ended.
	checkGrace = 200 * time.Millisecond
	// checkAge is the time for which a verdict is reused, so that callers without a token cannot make the server query
	// the database as often as they like.
	checkAge = time.Second
	// watchInterval is the time between two runs of the checks without a caller, so that changes are logged.
	watchInterval = 5 * time.Second
)

type phase string

const (
	starting phase = "starting"
	serving  phase = "serving"
	draining phase = "draining" // requests are still taken, but no more should be sent
	stopping phase = "stopping"
)

// readiness reports whether requests should be sent here.
type readiness struct {
	log     *slog.Logger
	judging sync.Mutex // held while the checks run: callers in that time share the verdict
	mu      sync.Mutex // guards the fields below
	phase   phase
	checks  []*check
	verdict *verdict
	at      time.Time
}

// kind is the meaning of a check for readiness.
type kind string

const (
	part       kind = "part"       // of this program: it is not checked before it has started
	dependency kind = "dependency" // a server that is needed: it is checked from the first start on
	requested  kind = "requested"  // a dependency that requests need
	optional   kind = "optional"   // a server without which the program works, but worse
)

type check struct {
	name string
	kind kind
	ask  CheckFunc

	mu      sync.Mutex
	asked   time.Time // zero unless an answer is outstanding
	failing time.Time // of the log line that it fails; zero while it does not
}

type verdict struct {
	Ready  bool          `json:"ready"`
	Phase  phase         `json:"phase"`
	Checks []checkResult `json:"checks"`
}

type checkResult struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional,omitempty"` // ready without it
	Reason   string `json:"reason,omitempty"`
}

func (r *readiness) add(name string, k kind, ask CheckFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, &check{name: name, kind: k, ask: ask})
}

func (r *readiness) set(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
	r.verdict = nil
}

// judge runs all checks at the same time, each for at most checkTimeout. Other callers get the same verdict for
// checkAge, so a caller that may hang up must not pass its own context. Parts are not checked before they have
// started, and nothing is checked after the stop began: they could not answer.
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
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, c := range checks {
		result := &v.Checks[i]
		*result = checkResult{Name: c.name, Optional: c.kind == optional, Reason: string(now)}
		if now != serving && (now != starting || c.kind == part) {
			continue
		}
		wg.Go(func() {
			err := c.answer(ctx)
			result.OK, result.Reason = err == nil, ""
			if err != nil {
				result.Reason = err.Error()
			}
			if !errors.Is(ctx.Err(), context.Canceled) {
				c.logChange(r.log, err)
			}
		})
	}
	wg.Wait()
	for _, c := range v.Checks {
		v.Ready = v.Ready && (c.OK || c.Optional)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == now {
		r.verdict, r.at = v, clock.Mark()
	}
	return v
}

// answer runs the check, and returns at the latest checkGrace after checkTimeout.
func (c *check) answer(ctx context.Context) error {
	c.mu.Lock()
	if since := c.asked; !since.IsZero() {
		c.mu.Unlock()
		return fmt.Errorf("no answer for %s", clock.Since(since).Round(time.Second))
	}
	c.asked = clock.Mark()
	c.mu.Unlock()
	answered := make(chan error, 1)
	go func() {
		err := c.ask(ctx)
		c.mu.Lock()
		c.asked = time.Time{}
		c.mu.Unlock()
		answered <- err
	}()
	late := time.NewTimer(checkTimeout + checkGrace)
	defer late.Stop()
	select {
	case err := <-answered:
		if errors.Is(err, context.DeadlineExceeded) {
			// The error of the deadline would add nothing.
			return fmt.Errorf("no answer within %s", checkTimeout)
		}
		return err
	case <-late.C:
		return fmt.Errorf("no answer within %s", checkTimeout)
	}
}

// logChange logs that a check began to fail, or no longer fails: one line each, also if the reason changes in between.
func (c *check) logChange(log *slog.Logger, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.failing.IsZero():
		c.failing = clock.Mark()
		log.Warn("readiness check fails", "check", c.name, "optional", c.kind == optional, "err", err)
	case err == nil && !c.failing.IsZero():
		log.Info("readiness check no longer fails", "check", c.name, "failed_for",
			clock.Since(c.failing).Round(time.Millisecond))
		c.failing = time.Time{}
	}
}

// watch judges at each watchInterval until ctx ends.
func (r *readiness) watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.judge(ctx)
		}
	}
}

// unavailable returns the answer to requests that fail because a server that they need does not answer, or nil if all
// such servers answer.
func (r *readiness) unavailable(ctx context.Context) *Problem {
	v := r.judge(context.WithoutCancel(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range v.Checks {
		if v.Phase == serving && r.checks[i].kind == requested && !c.OK {
			return NewProblem(http.StatusServiceUnavailable,
				"The %s does not answer (%s), and the request was ended. If it changes something, check whether it did. Try "+
					"again when /readyz answers 200.", c.Name, c.Reason)
		}
	}
	return nil
}

// FailedCheck is a condition of readiness that fails.
type FailedCheck struct{ Name, Reason string }

// FailedChecks returns the conditions of readiness that fail now, also the optional ones.
func (s *Server) FailedChecks(ctx context.Context) []FailedCheck {
	var failed []FailedCheck
	for _, c := range s.ready.judge(context.WithoutCancel(ctx)).Checks {
		if !c.OK {
			failed = append(failed, FailedCheck{Name: c.Name, Reason: c.Reason})
		}
	}
	return failed
}

func (r *readiness) handle(c *gin.Context) {
	v := r.judge(context.WithoutCancel(c.Request.Context()))
	status := http.StatusOK
	if !v.Ready {
		status = http.StatusServiceUnavailable
	}
	c.JSON(status, v)
}
