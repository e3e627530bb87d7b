package ratelimit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// composed is a request with its tickets: for each want those of its calls, in order.
type composed struct {
	grant.Request
	lines    []*line
	tickets  [][]*ticket
	pausings int // of the dispatcher, when the request was built
}

// composing is a request that is being built.
type composing struct {
	composed
	d     *dispatcher
	now   time.Time
	rules grant.RuleSet
	known map[grant.Key]int // the limits' places in the request
}

// compose builds a request for all lines that have waiting calls and are due. Paused calls keep waiting.
func (d *dispatcher) compose() composed {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	c := &composing{
		composed: composed{Request: grant.Request{Process: d.w.process}, pausings: d.pausings}, d: d, now: now,
		rules: d.w.rules.Of(d.media), known: map[grant.Key]int{},
	}
	d.requested = now
	c.addSettled()
	d.reportBy = time.Time{}
	lines := slices.SortedFunc(maps.Values(d.lines), func(a, b *line) int {
		return cmp.Or(b.id.importance-a.id.importance, cmp.Compare(a.id.endpoint, b.id.endpoint),
			cmp.Compare(a.id.app, b.id.app))
	})
	for _, l := range lines {
		d.release(l, now)
		c.addUnused(l)
		if !l.requestAt.After(now) {
			c.addWant(l)
		}
	}
	return c.composed
}

// addSettled adds the rows that calls matched beyond their estimates.
func (c *composing) addSettled() {
	for k, rows := range c.d.unsettled {
		c.Settled = append(c.Settled, grant.Settled{Limit: c.index(k), More: rows})
	}
	clear(c.d.unsettled)
}

// addUnused adds the unused slots of a line.
func (c *composing) addUnused(l *line) {
	l.spare = slices.DeleteFunc(l.spare, func(s slot) bool {
		if s.at == 0 || s.from.Before(c.now.Add(returnAhead)) || s.ahead && l.requestAt.After(c.now) {
			return false
		}
		common, own := c.cover(s.call)
		u := grant.Unused{At: s.at}
		u.Limits, u.Costs = c.charged(slices.Concat(common, own), s.rows)
		c.Unused = append(c.Unused, u)
		if s.ahead && len(l.granted) > 0 {
			l.granted[len(l.granted)-1].n--
		}
		return true
	})
}

// addWant adds the calls of a line: those that wait, and those that are expected.
func (c *composing) addWant(l *line) {
	granted := l.grantedLately(c.now)
	want := grant.Want{Importance: l.id.importance, Group: l.id.group(), Demand: len(l.waiting) + granted}
	tickets := c.addWaiting(&want, l, min(callsMax, max(callsFirst, 2*granted)))
	c.addExpected(&want, l)
	if len(tickets)+want.Expected.Calls > 0 {
		c.Wants, c.lines, c.tickets = append(c.Wants, want), append(c.lines, l), append(c.tickets, tickets)
	}
}

// addWaiting adds the first waiting calls of a line, up to most, and returns their tickets.
func (c *composing) addWaiting(want *grant.Want, l *line, most int) (tickets []*ticket) {
	for _, t := range l.inOrder() {
		if len(tickets) == most {
			break
		}
		if c.d.holdPaused(t, c.now) {
			continue
		}
		common, own := c.cover(t.call)
		if len(tickets) == 0 {
			want.Common, want.Costs = c.charged(common, 0)
		}
		call := grant.Wanted{Rows: c.d.estimate(t.call)}
		call.Own, want.OwnCosts = c.charged(own, 0)
		want.Rows += call.Rows
		want.Calls = append(want.Calls, call)
		tickets = append(tickets, t)
	}
	want.Rows /= max(1, len(tickets))
	return tickets
}

// addExpected adds the calls that a line expects, if no limit of an account and none with a burst covers them.
func (c *composing) addExpected(want *grant.Want, l *line) {
	e := l.forecast(c.now)
	if e.Calls == 0 || c.d.paused(l.call, c.now) {
		return
	}
	common, own := c.cover(l.call)
	if len(own) == 0 && !slices.ContainsFunc(common, func(x grant.Charge) bool { return x.HasBurst() }) {
		want.Common, want.Costs = c.charged(common, 0)
		want.Expected = e
	}
}

// cover returns the limits that cover a call, by the ledger's clock.
func (c *composing) cover(call grant.Call) (common, own []grant.Charge) {
	return c.rules.Cover(call, c.now.Add(c.d.ahead))
}

// charged returns the limits' places in the request, and what a call takes of each: rows for limits that count rows.
func (c *composing) charged(charges []grant.Charge, rows int) (limits, costs []int) {
	for _, x := range charges {
		limits, costs = append(limits, c.index(x.Key)), append(costs, cmp.Or(x.Cost, rows))
	}
	return limits, costs
}

// index returns the limit's place in the request. It does not depend on the limit's number, which may change
// meanwhile.
func (c *composing) index(k grant.Key) int {
	at, ok := c.known[k.ID()]
	if !ok {
		at = len(c.Limits)
		c.known[k.ID()] = at
		c.Limits = append(c.Limits, grant.Limit{Key: k, Part: grant.Tightened(c.d.pauses[k.AnyWindow()], c.now)})
	}
	return at
}
