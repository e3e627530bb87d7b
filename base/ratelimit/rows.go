package ratelimit

import (
	"math"
	"slices"

	"adsync/base/ratelimit/grant"
)

// rowsID identifies the calls of which matched row counts are known: those of an account, or without an account those
// of all.
type rowsID struct{ endpoint, app, rows, account string }

// matched is an estimate of the rows that a call matches: the last call's number for an account, the mean for all
// calls, and the mean deviation from it.
type matched struct{ rows, apart float64 }

const (
	// matchedFirst is the estimate before the first answer. It is rather high, because the first answers may match few
	// rows.
	matchedFirst = 3000
	// matchedNew is the weight of the last call in the mean.
	matchedNew = 0.2
)

// likely returns how many rows a call is expected to match.
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

// settle records how many rows a call matched whose estimate was another number.
func (d *desk) settle(c grant.Call, thought, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := rowsOf(c)
	d.matched[id] = matched{rows: float64(rows)}
	id.account = ""
	all, known := d.matched[id]
	if !known {
		all.rows = matchedFirst // The first calls may match few rows, and the following ones very many.
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
