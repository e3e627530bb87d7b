package grant

import "time"

// offset is how far this process's clock is ahead of a server's, as the round trips of late tell: each bounds it by the time that it took, and a quick
// one bounds it well. So an answer that took long tells its moments as exactly as others.
//
// Only elapsed time is read from this process's clock: what the two clocks show does not matter, and a server that takes the place of another, or
// whose clock is set, is noticed by the next round trip that contradicts.
type offset struct {
	least, most time.Duration
	at          time.Time // zero before the first round trip
}

// driftMax is how much clocks may drift apart: 0.05 %, as much as a clock is ever slewed.
const driftMax = 2000 // one part in so many

// narrow takes note of a round trip in which the server's clock showed a moment, and returns between which two of this process's that was.
func (o *offset) narrow(server, asked, answered time.Time) (from, to time.Time) {
	least, most := asked.Sub(server), answered.Sub(server)
	if !o.at.IsZero() {
		drift := answered.Sub(o.at) / driftMax
		l, m := max(least, o.least-drift), min(most, o.most+drift)
		if l <= m {
			least, most = l, m
		}
	}
	o.least, o.most, o.at = least, most, answered
	return server.Add(least), server.Add(most)
}
