package ratelimit

import "time"

// countedFrom is the shortest period with a burst, and the shortest that ulule/limiter counts as well.
const countedFrom = time.Minute

// burstDivisor gives the burst of such a period: this part of the calls that we allow ourselves.
const burstDivisor = 20

// pace is how the calls under one key follow each other. All times of pacing are microseconds: nanoseconds since 1970 do not
// fit the numbers of Redis's scripts.
type pace struct {
	every     int64 // between two calls, in the long run; 0 means no limit
	tolerance int64 // how much a call may be early: a burst of 1 + tolerance/every
}

// paceOf returns the pace of key for one of several processes that share its limit evenly. The package comment
// derives the numbers.
func paceOf(k Key, spread time.Duration, members int) pace {
	if k.Limit <= 0 {
		return pace{}
	}
	period := k.Period.Microseconds()
	limit := int64(k.Limit / members)
	if limit == 0 {
		// Fewer calls than processes: each gets one in so many periods that together they keep the mean.
		return pace{every: ceilDiv(max(period, (k.Period+spread).Microseconds())*int64(members), int64(k.Limit))}
	}
	// The small term keeps 20 × 0.95 from becoming 18.
	allowed := max(1, int64(float64(limit)*k.Share+1e-9))
	burst := int64(1)
	if k.Period >= countedFrom {
		burst = max(1, allowed/burstDivisor)
	}
	every := max(
		ceilDiv(period, allowed-burst+1),
		ceilDiv((k.Period+spread).Microseconds(), limit-burst+1),
	)
	return pace{every: every, tolerance: (burst - 1) * every}
}

// ahead is how far, in microseconds, a grant can move ready beyond the moment it is made.
func (p pace) ahead() int64 { return lookahead.Microseconds() + p.tolerance + p.every }

// grant decides on n calls at the moment now. ready[i] is the time at which the calls so far of key i are used up, and
// is moved on by what is granted. It returns how long after now each granted call starts, when the next one after these could be
// granted, and which key holds that one back, -1 for none.
//
// take.lua says the same in Lua, and a test holds the two together.
func grant(now int64, ready []int64, paces []pace, n int) (delays []int64, retry int64, by int) {
	ahead := lookahead.Microseconds()
	for i, p := range paces {
		// No grant moves ready further than this. What lies beyond is left from a limit that was lower until a moment ago or
		// from a clock that has been set back, and would block the key for as long.
		if p.every > 0 {
			ready[i] = min(ready[i], now+p.ahead())
		}
	}
	for {
		slot := now
		by = -1
		for i, p := range paces {
			if s := ready[i] - p.tolerance; s > slot {
				slot, by = s, i
			}
		}
		retry = slot - ahead - now
		if retry <= 0 {
			retry, by = 0, -1
		}
		if retry > 0 || len(delays) == n {
			return delays, retry, by
		}
		delays = append(delays, slot-now)
		for i, p := range paces {
			if p.every > 0 {
				ready[i] = max(ready[i], slot) + p.every
			}
		}
	}
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
