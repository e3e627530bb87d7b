package grant

import "time"

// offset is how far this process's clock is ahead of a server's, as the last round trips show. Each round trip bounds
// it by the time that it took, and a quick one gives narrow bounds. So the moments of a slow answer are as exact as
// others.
//
// Only elapsed time is read from this process's clock, so the absolute times of the two clocks do not matter. The
// next round trip that contradicts the bounds reveals a new server or a clock that was set.
type offset struct {
	least, most time.Duration
	at          time.Time // zero before the first round trip
}

// driftMax is the largest drift between clocks: 0.05 %, the fastest slewing of a clock.
const driftMax = 2000 // one part in driftMax

// narrow applies a round trip in which the server's clock showed a time, and returns the bounds of that time on this
// process's clock.
func (o *offset) narrow(server, sent, received time.Time) (from, to time.Time) {
	least, most := sent.Sub(server), received.Sub(server)
	if !o.at.IsZero() {
		drift := received.Sub(o.at) / driftMax
		l, m := max(least, o.least-drift), min(most, o.most+drift)
		if l <= m {
			least, most = l, m
		}
	}
	o.least, o.most, o.at = least, most, received
	return server.Add(least), server.Add(most)
}
