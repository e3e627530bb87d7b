// Package client calls the platforms. It waits for the limits that cover a call, signs the call with the login's
// token, sends it, reads the answer by the platform's error table, and handles pauses and expired tokens.
package client

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/token"
)

// TimeoutDefault is how long one call may take, from sending to the last byte of the answer.
const TimeoutDefault = 30 * time.Second

// Waiter waits for the limits. *ratelimit.Waiter implements it.
type Waiter interface {
	// Wait returns when the call may be made, or a *ratelimit.WaitError when that would be after the context's deadline.
	Wait(ctx context.Context, call grant.Call) (ratelimit.Grant, error)
	// Settle reports how many rows a call has matched.
	Settle(call grant.Call, grant ratelimit.Grant, rows int)
	// Pause makes all processes wait for d before they make such calls.
	Pause(ctx context.Context, call grant.Call, scope grant.Scope, d time.Duration) error
	// Used reports how far limits are used, from the platform's answers.
	Used(ctx context.Context, call grant.Call, scope grant.Scope, usage []ratelimit.Usage) error
}

// Tokens keeps the tokens of logins. *token.Keeper implements it.
type Tokens interface {
	Login(ctx context.Context, id int64) (token.Login, error)
	Renew(ctx context.Context, id, generation int64, why *media.Error) (token.Login, error)
	Refused(id, generation int64, err *media.Error)
	// App returns an app of the platform with its secret, for the calls of a media.AppSigner.
	App(ctx context.Context, id string) (media.App, error)
}

// Options holds what a Client uses.
type Options struct {
	Platform  media.Platform
	Transport *Transport
	Waiter    Waiter
	Tokens    Tokens
	// Timeout is how long one call may take; 0 means TimeoutDefault.
	Timeout time.Duration
	// PauseMax caps the pauses that answers demand; 0 means media.PauseMaxDefault.
	PauseMax   time.Duration
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Client calls one platform. It is safe for concurrent use.
type Client struct {
	Options
	metrics  *metrics
	slowness slowness
	inTime   atomic.Int64 // requests that were written before their grants ended
}

// New returns a Client.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = TimeoutDefault
	}
	if o.PauseMax == 0 {
		o.PauseMax = media.PauseMaxDefault
	}
	return &Client{Options: o, metrics: newMetrics(o.Registerer), slowness: slowness{media: o.Platform.Name()}}
}

// For returns an API that calls for one account and counts its calls.
func (c *Client) For(account media.Account) media.CountingAPI {
	return &api{client: c, account: account, tokenID: account.TokenID}
}

// ForLogin returns an API that calls for a login and no account, and counts its calls.
func (c *Client) ForLogin(tokenID int64) media.CountingAPI {
	return &api{client: c, tokenID: tokenID}
}

// capped returns the pause, at most PauseMax.
func (c *Client) capped(pause time.Duration) time.Duration { return min(pause, c.PauseMax) }

// pause pauses the calls of a used-up limit in all processes, and returns the error that makes the subtask wait.
func (c *Client) pause(ctx context.Context, call grant.Call, e *media.Error) *media.DeferError {
	const pauseMin = time.Second
	after := c.capped(max(e.RetryAfter, pauseMin))
	scope := e.Scope
	if scope == "" || (scope == grant.ScopeAccount && call.Account == "") {
		scope = grant.ScopeApp
	}
	if err := c.Waiter.Pause(ctx, call, scope, after); err != nil {
		c.Logger.Warn("cannot share a pause with other processes", "media", call.Media, "endpoint", call.Endpoint, "err", err)
	}
	return &media.DeferError{After: after, Reason: e.Error()}
}

// wait waits for the limits, and reserves some of the time up to the deadline for the call: a grant that leaves no
// time for the answer would waste a call and an attempt.
func (c *Client) wait(ctx context.Context, call grant.Call) (ratelimit.Grant, error) {
	waitCtx := ctx
	if left, ok := clock.Left(ctx); ok {
		reserve := min(c.Timeout, left/4)
		var cancel context.CancelFunc
		waitCtx, cancel = context.WithTimeout(ctx, left-reserve)
		defer cancel()
	}
	grant, err := c.Waiter.Wait(waitCtx, call)
	if late, ok := errors.AsType[*ratelimit.WaitError](err); ok {
		return grant, &media.DeferError{After: max(late.After, time.Second), Reason: late.Error()}
	}
	return grant, err
}
