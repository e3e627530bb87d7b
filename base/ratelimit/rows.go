package ratelimit

import (
	"math"
	"slices"

	"adsync/base/ratelimit/grant"
)

// rowsID identifies the calls of which matched row counts are known: those of an account, or without an account those
// of all.
type rowsID struct{ endpoint, app, rows, account string }

// rowEstimate is an estimate of the rows that a call matches: the last call's number for an account, the mean for all
// calls, and the mean deviation from it.
type rowEstimate struct{ rows, apart float64 }

const (
	// estimateFirst is the estimate before the first answer. It is rather high, because the first answers may match few
	// rows.
	estimateFirst = 3000
	// estimateWeight is the weight of the last call in the mean.
	estimateWeight = 0.2
)

// estimate returns how many rows a call is expected to match.
func (d *dispatcher) estimate(c grant.Call) int {
	if c.Rows == "" {
		return 0
	}
	id := rowsOf(c)
	m, known := d.estimates[id]
	if !known {
		id.account = ""
		if m, known = d.estimates[id]; !known {
			m.rows = estimateFirst
		}
	}
	return max(1, int(math.Ceil(m.rows+m.apart)))
}

func rowsOf(c grant.Call) rowsID {
	return rowsID{grant.PlainEndpoint(c.Endpoint), c.App, c.Rows, c.Account}
}

// settle records how many rows a call matched whose estimate was another number.
func (d *dispatcher) settle(c grant.Call, thought, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := rowsOf(c)
	d.estimates[id] = rowEstimate{rows: float64(rows)}
	id.account = ""
	all, known := d.estimates[id]
	if !known {
		all.rows = estimateFirst // The first calls may match few rows, and the following ones very many.
	}
	off := float64(rows) - all.rows
	d.estimates[id] = rowEstimate{all.rows + estimateWeight*off, all.apart + estimateWeight*(math.Abs(off)-all.apart)}
	if rows <= thought {
		return
	}
	common, own := d.w.rules.Cover(c, d.w.now().Add(d.ahead))
	for _, x := range slices.Concat(common, own) {
		if x.Cost == 0 {
			d.unsettled[x.Key] += rows - thought
			d.requestBy(d.w.now().Add(settleWithin))
		}
	}
}
