// Package grant decides which calls may be made when: rules of limits, and the book of what was granted under them.
//
// Its promise: however many processes ask, no window of a limit holds more calls than the limit, and each process has its share. The same decision
// stands twice: in ask.lua, which Redis runs for all processes, and in Go (plan), which a process uses for its own part while Redis is away. A test
// holds the two together.
//
// What is where:
//
//   - rule.go, rules.go, key.go: what a row of rate_limit says, which limits cover a call, what calls are counted under
//   - pace.go: how far apart calls are under a limit; tighten.go, learn.go: limits that are lower than their rule, or not known
//   - ask.go: what is asked and answered; plan.go: the decision, with book.go for the moments of a limit and shares.go for fairness; ask.lua says
//     the same
//   - ledger.go: the promise of a ledger; redis.go, memory.go: the two that there are; pauses.go: pauses in Redis
//   - longwindows.go: hours and days, counted by ulule/limiter; plainmode.go: all of them so; clockoffset.go: Redis's clock and ours
//   - state.go: how limits stand, for people
//
// # Why no sliding window overflows
//
// A platform counts the calls that arrived within its last period, at any moment. A count that starts anew at fixed moments lets up to twice
// the limit through around such a moment. So each limit has a calendar of granted moments in Redis's time, any two of which are at least every
// apart, in whatever order they were granted. Every is chosen so that
//
//   - of the calls' starts, any window of the Period holds at most Limit × Share, and
//   - of their arrivals, any window of the Period holds at most Limit, as long as the way from start to arrival takes between d and
//     d + Spread, whatever d is: calls that arrive within a Period started within Period + Spread, and m of them span (m-1)·every.
//
// A call that costs n takes n moments in a row, of which it uses the first: a window may hold up to the highest cost less 1 beyond its moments, which every
// leaves out.
//
// A call needs a moment that the calendars of all limits which cover it leave free; it takes it from all or from none. One that a limit of its
// account holds back takes a later moment, and those before it stay free for others.
//
// The share (0.95 unless a rule says otherwise) is the margin for what we do not count: requests that a proxy sends twice, a colleague at the
// platform's console, a limit whose real number is a little lower than its documents say.
//
// Limits of an hour and more have a burst, a twentieth of the allowed calls: a limit of 10,000 a day would else serve one call each 9 s all
// day, and a handful of calls in the morning would wait a minute. They are kept as one number, the time at which the calls so far are used up
// (GCRA), and counted by ulule/limiter as well, at the platform's own number. Limits of rows are kept so too, with a burst of a quarter: a call is charged
// what it is thought to match before it is made, and what it matched more when it is answered (Waiter.Settle).
//
// # Shares
//
// See plan: between importances by weight, then between processes and endpoints alike, all by what they want.
package grant
