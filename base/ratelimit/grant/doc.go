// Package grant decides when which calls may be made. It holds the rules of limits and the record of what was granted
// under them.
//
// It promises that no window of a limit holds more calls than the limit, however many processes send requests, and
// that each process has its share. The decision is implemented twice: in grant.lua, which Redis runs for all processes,
// and in Go (Plan), which a process uses for its own part while Redis is away. A test holds the two equal.
//
// # Files
//
//   - rule.go, rules.go, key.go: a row of rate_limit, the limits that cover a call, the keys that calls are counted
//     under
//   - pace.go: the distance between calls under a limit; tighten.go, learn.go: limits that are lower than their rule,
//     or unknown
//   - request.go: requests and answers; plan.go: the decision, with usage.go for the moments of a limit and shares.go
//     for fairness; grant.lua: the decision in Lua
//   - ledger.go: the interface Ledger; redis.go, memory.go: its two implementations; redispauses.go: pauses in Redis
//   - longwindows.go: hours and days, counted by ulule/limiter; plainmode.go: all limits counted so; clockoffset.go:
//     Redis's clock and ours
//   - state.go: the state of limits, for people
//
// # Why no sliding window overflows
//
// A platform counts the calls that arrived within its last period, at any moment. A counter that restarts at fixed
// moments lets up to twice the limit through around such a moment. So each limit has a calendar of granted moments in
// Redis's time. Any two of them are at least every apart, in whatever order they were granted. Every is chosen so
// that
//
//   - of the calls' starts, any window of the Period holds at most Limit × Share, and
//   - of their arrivals, any window of the Period holds at most Limit, as long as the way from start to arrival takes
//     between d and d + Spread, whatever d is: calls that arrive within a Period started within Period + Spread, and
//     m of them span (m-1)·every.
//
// A call that costs n takes n moments in a row and uses the first. So a window may hold up to the highest cost less 1
// more than its moments. Every allows for this.
//
// A call needs a moment that is free in the calendars of all limits that cover it. It takes the moment from all or
// from none. A call that a limit of its account holds back takes a later moment, and the moments before stay free for
// others.
//
// The share (0.95 unless a rule has another) is the margin for what we do not count: requests that a proxy sends
// twice, a colleague at the platform's console, a real limit that is a little lower than documented.
//
// Limits of an hour and more have a burst of a twentieth of the allowed calls. Without it a limit of 10,000 a day
// would serve one call each 9 s all day, and a handful of calls in the morning would wait a minute. Such limits are
// kept as one number, the time at which the calls so far are used up (GCRA), and also counted by ulule/limiter at the
// platform's own number. Limits of rows are kept as one number too, with a burst of a quarter. A call is charged its
// estimate of rows before it is made, and the difference when it is answered (Waiter.Settle).
//
// # Shares
//
// Plan divides limits between importances by weight, then evenly between processes and endpoints, all by their
// demand.
package grant
