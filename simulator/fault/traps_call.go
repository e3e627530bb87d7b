package fault

import (
	"cmp"
	"strings"
	"time"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
)

// UnknownCode is an error code that no platform documents.
const UnknownCode = 77_777

// BeforeAnswer applies traps before a platform handles a call. taken reports whether one has replaced the answer.
func (t *Traps) BeforeAnswer(c *platform.Call) (taken bool) {
	if !t.IsAny() {
		return false
	}
	isRefresh := strings.Contains(strings.ToLower(c.Endpoint), "refresh") || c.Query.Get("grant_type") == "refresh_token"
	if isRefresh && t.Springs(c, trap.RefreshCut) {
		c.Cut = platform.CutAll
		// If the refresh token stays the same, only the answer is lost. Otherwise the request is lost: no client could
		// continue after it lost the only answer with a new pair.
		return c.Spec.RefreshRotates || c.Query.Get("grant_type") != "refresh_token"
	}
	// A token that cannot be refreshed does not end: only a person could bring it back.
	if a, ok := c.Sim.World.LookupText(c.Spec, c.Query.Get(c.Spec.AccountParam)); ok && c.Spec.RefreshLife > 0 &&
		t.Springs(c, trap.TokenEnded) {
		for _, l := range c.Sim.Vault.Find(c.Spec, &a) {
			if err := c.Sim.Vault.Kill(l, false, c.Now); err != nil {
				c.Sim.Logger.Error("cannot save a token", "err", err)
			}
		}
	}
	return false
}

// AfterAnswer applies traps that replace a good answer about an account.
func (t *Traps) AfterAnswer(c *platform.Call) {
	if !t.IsAny() || c.Account == "" || c.Code != 0 || c.Cut != platform.CutNothing {
		return
	}
	switch {
	case t.Springs(c, trap.AnswerHTML):
		c.Header.Set("Content-Type", "text/html")
		c.Body = append(c.Body[:0],
			"<!DOCTYPE html><html><body><h1>服务升级中</h1><p>Please come back later.</p></body></html>\n"...)
	case t.Springs(c, trap.AnswerUnknownCode):
		c.Code = UnknownCode
		c.Body = append(c.Body[:0], cmp.Or(c.Spec.UnknownAnswer,
			`{"code":77777,"message":"This service is being moved.","data":null}`)...)
	case t.spoils(c, trap.FigureUnreadable, figureOf(c), `"n/a"`):
	case t.spoils(c, trap.KeyEmpty, keyOf(c), `""`):
	}
}

// shutKey identifies an endpoint that is shut for an app.
type shutKey struct{ media, endpoint, app string }

// closing is the reason, and the end on the world's clock.
type closing struct {
	limit.Refusal
	until int64 // in Unix seconds
}

// How long traps shut an endpoint, in seconds of the world.
const (
	shutPenalty = 300
	shutReports = 20
)

// Refuses reports whether a trap refuses a call as over a limit, with the refusal.
func (t *Traps) Refuses(c *platform.Call) (limit.Refusal, bool) {
	if !t.IsAny() || c.Account == "" {
		return limit.Refusal{}, false
	}
	if r, shut := t.shutFor(c); shut {
		return r, true
	}
	rule := limit.Rule{Media: c.Spec.Name, Endpoint: c.Endpoint, Scope: limit.ScopeApp, Seconds: 1, Limit: 1}
	minute, ofAccount := rule, rule
	minute.Seconds, ofAccount.Scope = 60, limit.ScopeAccount
	switch {
	case t.Springs(c, trap.AccountOverLimit):
		return limit.Refusal{Rule: ofAccount, RetryIn: time.Second}, true
	case t.Springs(c, trap.AppOverLimit):
		return limit.Refusal{Rule: rule, RetryIn: time.Second}, true
	case t.Springs(c, trap.PlatformBusy):
		return limit.Refusal{Rule: rule, Busy: true, RetryIn: time.Second}, true
	case t.Springs(c, trap.EndpointShut):
		return t.close(c, closing{limit.Refusal{Rule: minute, Penalty: true}, c.Now + shutPenalty}), true
	case isReport(c) && t.Springs(c, trap.ReportsShut):
		return t.close(c, closing{limit.Refusal{Rule: rule, Busy: true}, c.Now + shutReports}), true
	}
	return limit.Refusal{}, false
}

func (t *Traps) close(c *platform.Call, x closing) limit.Refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut[shutKey{c.Spec.Name, c.Endpoint, c.App}] = x
	return x.left(c)
}

// shutFor returns why an endpoint is shut for a call's app. No endpoint is shut while the world's clock is frozen, as
// it would never open.
func (t *Traps) shutFor(c *platform.Call) (limit.Refusal, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := shutKey{c.Spec.Name, c.Endpoint, c.App}
	x, shut := t.shut[k]
	if shut && (c.Now >= x.until || t.Frozen()) {
		delete(t.shut, k)
		shut = false
	}
	return x.left(c), shut
}

// left returns the refusal with the remaining time in real time, in which clients wait.
func (x closing) left(c *platform.Call) limit.Refusal {
	r := x.Refusal
	r.RetryIn = time.Duration(float64(x.until-c.Now) / c.Sim.Clock.Speed() * float64(time.Second))
	return r
}
