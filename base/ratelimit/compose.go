package ratelimit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// asked are the tickets of an ask: for each of its wants those whose calls it names, in their order.
type asked struct {
	grant.Ask
	lines    []*line
	tickets  [][]*ticket
	pausings int // of the desk, when it was asked
}

// compose makes an ask for all lines in which somebody waits and for which it is time. Calls that are paused wait on.
func (d *desk) compose() asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := asked{Ask: grant.Ask{Process: d.w.process}, pausings: d.pausings}
	now := d.w.now()
	d.asked = now
	known := map[grant.Key]int{}
	index := func(k grant.Key) int {
		at, ok := known[k.ID()] // Whatever its number: rules may change meanwhile.
		if !ok {
			at = len(a.Limits)
			known[k.ID()] = at
			a.Limits = append(a.Limits, grant.Limit{Key: k, Part: grant.Tightened(d.pauses[k.AnyWindow()], now)})
		}
		return at
	}
	charged := func(charges []grant.Charge, rows int) (limits, costs []int) {
		for _, x := range charges {
			limits, costs = append(limits, index(x.Key)), append(costs, cmp.Or(x.Cost, rows))
		}
		return limits, costs
	}
	for k, rows := range d.owed {
		a.Settled = append(a.Settled, grant.Settled{Limit: index(k), More: rows})
	}
	clear(d.owed)
	d.tell = time.Time{}
	rules := d.w.rules.Of(d.media)
	lines := slices.SortedFunc(maps.Values(d.lines), func(a, b *line) int {
		return cmp.Or(b.id.importance-a.id.importance, cmp.Compare(a.id.endpoint, b.id.endpoint), cmp.Compare(a.id.app, b.id.app))
	})
	for _, l := range lines {
		d.release(l, now)
		l.spare = slices.DeleteFunc(l.spare, func(s slot) bool {
			if s.at == 0 || s.from.Before(now.Add(handBackAhead)) || s.ahead && l.askAt.After(now) {
				return false
			}
			common, own := rules.Cover(s.call, now.Add(d.ahead))
			u := grant.Unused{At: s.at}
			u.Limits, u.Costs = charged(slices.Concat(common, own), s.rows)
			a.Unused = append(a.Unused, u)
			if s.ahead && len(l.granted) > 0 {
				l.granted[len(l.granted)-1].n--
			}
			return true
		})
		if l.askAt.After(now) {
			continue
		}
		group := l.id.app + " " + l.id.endpoint
		if l.id.rows != "" {
			group += " " + l.id.rows
		}
		if !l.id.ofAccount {
			group += " of none"
		}
		granted := l.grantedLately(now)
		want := grant.Want{Importance: l.id.importance, Group: group, Demand: len(l.waiting) + granted}
		var tickets []*ticket
		for _, t := range l.inOrder() {
			if len(tickets) == min(callsMax, max(callsFirst, 2*granted)) {
				break
			}
			if d.holdPaused(t, now) {
				continue
			}
			common, own := rules.Cover(t.call, now.Add(d.ahead))
			if len(tickets) == 0 {
				want.Common, want.Costs = charged(common, 0)
			}
			call := grant.Wanted{Rows: d.likely(t.call)}
			call.Own, want.OwnCosts = charged(own, 0)
			want.Rows += call.Rows
			want.Calls = append(want.Calls, call)
			tickets = append(tickets, t)
		}
		want.Rows /= max(1, len(tickets))
		if e := l.expects(now); e.Calls > 0 && !d.paused(l.call, now) {
			common, own := rules.Cover(l.call, now.Add(d.ahead))
			if len(own) == 0 && !slices.ContainsFunc(common, func(x grant.Charge) bool { return x.HasBurst() }) {
				want.Common, want.Costs = charged(common, 0)
				want.Expected = e
			}
		}
		if len(tickets)+want.Expected.Calls > 0 {
			a.Wants, a.lines, a.tickets = append(a.Wants, want), append(a.lines, l), append(a.tickets, tickets)
		}
	}
	return a
}
