// Package ratelimit keeps the calls of all processes of a deployment within what the media platforms allow, and uses all of it.
//
// Rules say what is allowed, a Waiter waits for a grant on behalf of a caller:
//
//	if err := waiter.Wait(ctx, ratelimit.Call{Media: "tencent", Endpoint: "hourly_reports/get", App: "1", Account: "9"}); err != nil {
//		late, isLate := errors.AsType[*ratelimit.WaitError](err) // isLate: come back after late.After
//	}
//	// … send the request at once …
//
// docs/quota.md tells of the whole; this is what the code rests on.
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
// # Grants in batches
//
// In each process one goroutine per media asks for all calls that wait, and lives while any does. An ask is one script (ask.lua) and one
// round trip, and grants calls up to 2 s ahead. Where all get what they ask for, they ask as calls come; where calls wait, a process asks once in 2
// s, or once for some 80 calls. So what a process holds when it dies lapses within 2 s. What it holds and nobody in it wants any more goes back with the
// next ask, within a tenth of a second: its moments are free again. (Where there are none, it counts as used.)
//
// The answer tells moments of Redis from the time of the script on, which lies between our sending and our reading: a call may go out
// from its moment after the latter to the spread after its moment after the former. No clock of a process matters, and the time that the ask took is
// a part of the spread. One that is too late stands in line again.
//
// # Shares
//
// See plan: between importances by weight, then between processes and endpoints alike, all by what they want. In a process, calls of a line go
// by their turns, but those of an account that has had more than others after theirs.
//
// # Without Redis
//
// Each process grants itself its part of each limit from its own calendars, after what Redis may have granted to others has
// lapsed, 2 s. A Redis that comes back after that, or is another one, or has lost all keys, grants nothing that starts within 2 s either. What is promised:
//
//   - Away for all: together they stay within every limit. There are as many parts as processes that reached Redis last, or Config.Members if that is more, and who
//     begins without Redis has one only of the latter. Without a Witness there are as many as Config.Members, whoever there is. Of a limit of rows, of which one call may match
//     a quarter, they may not: a process does not know what the others match.
//   - Away for some: they make no calls, for those who reach it share the whole limits. They know it from their Witness. Without one, each adds its
//     part, so with one of them a window may hold (1 + 1/Members) times the limit.
//   - Back, or emptied: no window overflows. Of a limit of an hour or more one burst may be granted too much, which the share covers.
package ratelimit
