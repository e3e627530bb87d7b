package grant

import (
	"context"
	"slices"
	"time"

	"adsync/base/clock"
)

// plainCalls is the maximum number of calls that one request counts. Each takes a round trip per limit, and all of
// them must fit into the time that Redis has to answer.
const plainCalls = 100

// requestPlain counts each call in fixed windows, with one round trip for each of its limits. A call may be counted by
// some limits and not be granted, which is on the safe side.
func (r *Redis) requestPlain(ctx context.Context, media string, a Request) (Answer, error) {
	// Without wants the answer only has the pauses.
	out, err := r.requestMoments(ctx, media, Request{Process: a.Process, Back: a.Back})
	if err != nil {
		return Answer{}, err
	}
	for _, s := range a.Settled {
		if _, err := r.counts.add(ctx, a.Limits[s.Limit].Key, s.More); err != nil {
			return Answer{}, err
		}
	}
	tried := 0
	for _, w := range a.Wants {
		g := Given{By: None}
		for n, c := range w.Calls {
			if tried++; tried > plainCalls {
				break
			}
			limits, costs := slices.Concat(w.Common, c.Own), slices.Concat(w.Costs, w.OwnCosts)
			for i, l := range limits {
				left, err := r.counts.add(ctx, a.Limits[l].Key, cost(costs, i, c.Rows))
				if err != nil {
					return Answer{}, err
				}
				if left > 0 {
					g.By, g.Opens = l, max(g.Opens, left.Microseconds())
				}
			}
			if g.By != None {
				break
			}
			g.Starts = append(g.Starts, Start{Call: n})
		}
		out.Wants = append(out.Wants, g)
	}
	out.Answered = clock.Mark() // The counting took time.
	out.Asked, out.Clock = out.Answered, time.Time{}
	return out, nil
}
