// Package ratelimit keeps the calls of all processes of a deployment within what the media platforms allow, and uses all of it.
//
// Rules of package grant say what is allowed, a Waiter waits for a grant on behalf of a caller:
//
//	if err := waiter.Wait(ctx, grant.Call{Media: "m", Endpoint: "reports/get", App: "1", Account: "9"}); err != nil {
//		late, isLate := errors.AsType[*ratelimit.WaitError](err) // isLate: come back after late.After
//	}
//	// … send the request at once …
//
// docs/quota.md tells of the whole; this is what the code rests on.
//
// Package grant decides on grants, and says why no sliding window overflows.
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
// Package grant shares limits out between importances, processes and endpoints. In a process, calls of a line go
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
//
// # What is where
//
//   - waiter.go: Wait and the other calls of a Waiter; terms.go: importance, turns, and places that others need
//   - desk.go: where the calls of a platform wait; line.go: those of one kind, and fairness between accounts
//   - compose.go, deliver.go: what is asked for all of them, and what an answer gives to whom
//   - askahead.go: calls that nobody waits for yet; comeback.go: callers that leave their place; handback.go: grants that are not used
//   - pauses.go, tighten.go: after a refusal; rows.go: how many rows calls match
//   - fallback.go: without Redis; parts.go: a process's part; owed.go: what Redis is told when it is back; server.go: which server all use;
//     witness.go: how processes learn of each other without Redis
//   - steps.go: a process step by step, for the simulation of package quota
package ratelimit
