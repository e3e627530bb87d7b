package simulator

import (
	"strings"
	"time"
)

// unknownCode is an error code that neither platform's documents have.
const unknownCode = 77_777

// beforeAnswer springs what happens before a platform looks at a call. It tells whether that took the answer's place.
func (t *traps) beforeAnswer(c *call) (taken bool) {
	if !t.isAny() {
		return false
	}
	isRefresh := strings.Contains(c.endpoint, "refresh_token") || c.query.Get("grant_type") == "refresh_token"
	if isRefresh && t.Springs(c, trapRefreshCut) {
		c.cut = cutAll
		// Where the refresh token stays, the answer alone is lost. Elsewhere it is the request: nobody could go on with a pair whose
		// one answer is lost.
		return c.query.Get("grant_type") != "refresh_token"
	}
	if a, ok := c.sim.world.lookupText(c.p, c.query.Get(c.p.accountParam)); ok && t.Springs(c, trapTokenEnded) {
		for _, l := range c.sim.vault.find(c.p, &a) {
			if err := c.sim.vault.kill(l, false, c.now); err != nil {
				c.sim.logger.Error("cannot save a token", "err", err)
			}
		}
	}
	return false
}

// afterAnswer springs what comes in the place of a good answer about an account.
func (t *traps) afterAnswer(c *call) {
	if !t.isAny() || c.account == "" || c.code != 0 || c.cut != cutNothing {
		return
	}
	switch {
	case t.Springs(c, trapAnswerHTML):
		c.header.Set("Content-Type", "text/html")
		c.body = append(c.body[:0], "<!DOCTYPE html><html><body><h1>服务升级中</h1><p>Please come back later.</p></body></html>\n"...)
	case t.Springs(c, trapAnswerUnknownCode):
		c.code = unknownCode
		c.body = append(c.body[:0], `{"code":77777,"message":"This service is being moved.","data":null}`...)
	case t.spoils(c, trapFigureUnreadable, figureOf(c), `"n/a"`):
	case t.spoils(c, trapKeyEmpty, keyOf(c), `""`):
	}
}

// shutKey is what is shut: an endpoint to an app.
type shutKey struct{ media, endpoint, app string }

// closing is why, and until when on the world's clock.
type closing struct {
	refusal
	until int64 // in seconds
}

// How long a trap shuts an endpoint, in seconds of the world.
const (
	shutPenalty = 300
	shutReports = 20
)

// Refuses is why a trap refuses a call as over a limit.
func (t *traps) Refuses(c *call) (refusal, bool) {
	if !t.isAny() || c.account == "" {
		return refusal{}, false
	}
	if r, shut := t.shutFor(c); shut {
		return r, true
	}
	rule := LimitRule{Media: c.p.name, Endpoint: c.endpoint, Scope: ScopeApp, Seconds: 1, Limit: 1}
	minute, ofAccount := rule, rule
	minute.Seconds, ofAccount.Scope = 60, ScopeAccount
	switch {
	case t.Springs(c, trapAccountOverLimit):
		return refusal{rule: ofAccount, retryIn: time.Second}, true
	case t.Springs(c, trapAppOverLimit):
		return refusal{rule: rule, retryIn: time.Second}, true
	case t.Springs(c, trapPlatformBusy):
		return refusal{rule: rule, busy: true, retryIn: time.Second}, true
	case t.Springs(c, trapEndpointShut):
		return t.close(c, closing{refusal{rule: minute, penalty: true}, c.now + shutPenalty}), true
	case strings.Contains(c.endpoint, "report") && t.Springs(c, trapReportsShut):
		return t.close(c, closing{refusal{rule: rule, busy: true}, c.now + shutReports}), true
	}
	return refusal{}, false
}

func (t *traps) close(c *call, x closing) refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut[shutKey{c.p.name, c.endpoint, c.app}] = x
	return x.left(c)
}

// shutFor tells why an endpoint is shut to a call's app. It is not while the world's clock stands still, or it would be for ever.
func (t *traps) shutFor(c *call) (refusal, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := shutKey{c.p.name, c.endpoint, c.app}
	x, shut := t.shut[k]
	if shut && (c.now >= x.until || t.frozen()) {
		delete(t.shut, k)
		shut = false
	}
	return x.left(c), shut
}

// left says until when, in real time, in which clients wait.
func (x closing) left(c *call) refusal {
	r := x.refusal
	r.retryIn = time.Duration(float64(x.until-c.now) / c.sim.clock.Speed() * float64(time.Second))
	return r
}
