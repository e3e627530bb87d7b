package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// The tasks that are measured, by their handlers, which are also their names.
const (
	noop    = platform + ".noop"    // nothing, some times for each account
	one     = platform + ".one"     // nothing, once for each account
	granted = platform + ".granted" // a call that a limit allows
	paced   = platform + ".paced"   // nothing, at latencyRate
	held    = platform + ".held"    // waits for its release
)

// latencyRate is how many subtasks a second begin while their latency is measured: the peak rate of the system that
// adsync follows.
const latencyRate = 500

var (
	fanOutRates = map[string]int{paced: latencyRate}
	taskParams  = map[string]string{fullTask: fullParams}
)

// grantRule is a limit that is checked for each call and delays none.
var grantRule = grant.Rule{Media: platform, Endpoint: "call", Scope: grant.ScopeApp, Period: time.Second,
	Limit: 1_000_000, Share: 1}

// hold keeps subtasks running.
type hold struct {
	mu    sync.Mutex
	gate  chan struct{}
	under atomic.Int64
}

func newHold() *hold { return &hold{gate: make(chan struct{})} }

// wait returns when release is called, or ctx ends.
func (h *hold) wait(ctx context.Context) error {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	h.under.Add(1)
	defer h.under.Add(-1)
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release ends all waits.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.gate)
	h.gate = make(chan struct{})
}

func (d *deployment) handlers() []media.Handler {
	parts := func(n int) func(media.Plan) ([]string, error) {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("p", i)
		}
		return func(media.Plan) ([]string, error) { return names, nil }
	}
	handler := func(name string, n int, run func(ctx context.Context, w media.Work) error) media.Handler {
		return media.Handler{Name: name, Target: media.Accounts, Check: func(json.RawMessage) error { return nil },
			Parts: parts(n),
			Run:   func(ctx context.Context, w media.Work) (media.Result, error) { return media.Result{}, run(ctx, w) }}
	}
	nothing := func(context.Context, media.Work) error { return nil }
	return []media.Handler{
		handler(noop, d.o.parts, nothing),
		handler(one, 1, nothing),
		handler(paced, 1, nothing),
		handler(crowdOne, 1, nothing),
		handler(idleNone, 1, nothing),
		handler(granted, d.o.parts, func(ctx context.Context, _ media.Work) error { return d.grant(ctx) }),
		handler(held, 1, func(ctx context.Context, _ media.Work) error {
			// Until its first call a subtask counts as beginning, and few may begin at the same time.
			if err := d.grant(ctx); err != nil {
				return err
			}
			return d.hold.wait(ctx)
		}),
	}
}

func (d *deployment) grant(ctx context.Context) error {
	_, err := d.waiter.Wait(ctx, grant.Call{Media: platform, Endpoint: "call", App: "1"})
	return err
}
