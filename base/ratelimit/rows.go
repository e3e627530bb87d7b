package ratelimit

import (
	"math"
	"slices"

	"adsync/base/ratelimit/grant"
)

// rowsID says of which calls it is known how many rows they match: those of an account, or of all, without an account.
type rowsID struct{ endpoint, app, rows, account string }

// matched is how many rows calls match: of an account the last one, of all the mean, and by how much they are apart.
type matched struct{ rows, apart float64 }

const (
	// matchedFirst is how many rows a call is thought to match before any was answered: rather many, for the first answers may tell of few.
	matchedFirst = 3000
	// matchedNew is how much the last call tells of the next.
	matchedNew = 0.2
)

// likely is how many rows a call is thought to match.
func (d *desk) likely(c grant.Call) int {
	if c.Rows == "" {
		return 0
	}
	id := rowsOf(c)
	m, known := d.matched[id]
	if !known {
		id.account = ""
		if m, known = d.matched[id]; !known {
			m.rows = matchedFirst
		}
	}
	return max(1, int(math.Ceil(m.rows+m.apart)))
}

func rowsOf(c grant.Call) rowsID {
	return rowsID{grant.PlainEndpoint(c.Endpoint), c.App, c.Rows, c.Account}
}

// settle notes how many rows a call has matched that was thought to match another number.
func (d *desk) settle(c grant.Call, thought, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := rowsOf(c)
	d.matched[id] = matched{rows: float64(rows)}
	id.account = ""
	all, known := d.matched[id]
	if !known {
		all.rows = matchedFirst // The first ones may match few, and those that follow very many.
	}
	off := float64(rows) - all.rows
	d.matched[id] = matched{all.rows + matchedNew*off, all.apart + matchedNew*(math.Abs(off)-all.apart)}
	if rows <= thought {
		return
	}
	common, own := d.w.rules.Cover(c, d.w.now().Add(d.ahead))
	for _, x := range slices.Concat(common, own) {
		if x.Cost == 0 {
			d.owed[x.Key] += rows - thought
			d.tellBy(d.w.now().Add(settleWithin))
		}
	}
}
