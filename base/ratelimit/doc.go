// Package ratelimit keeps the calls of all processes of a deployment within the platforms' limits, and uses the
// limits fully.
//
// The rules of package grant define what is allowed. A Waiter waits for a grant on behalf of a caller:
//
//	if err := waiter.Wait(ctx, grant.Call{Media: "m", Endpoint: "reports/get", App: "1", Account: "9"}); err != nil {
//		late, isLate := errors.AsType[*ratelimit.WaitError](err) // isLate: come back after late.After
//	}
//	// … send the request at once …
//
// docs/quota.md describes the whole. This comment lists what the code relies on. Package grant decides on grants and
// explains why no sliding window overflows.
//
// # Grants in batches
//
// In each process one goroutine per media requests grants for all waiting calls. It ends when no call waits. A
// request is one script (grant.lua) and one round trip, and it grants calls up to 2 s ahead. While the limits suffice
// for all, calls are requested as they come. When calls have to wait, a process sends a request every 2 s, or one for
// about 80 calls. So the grants of a process that dies lapse within 2 s. Grants that no caller needs any longer are
// returned with the next request, within 0.1 s, and their moments are free again. (Limits that are kept without
// moments count them as used.)
//
// An answer gives the granted moments relative to the time at which the script ran in Redis. That time lies between
// our sending and our reading. So a call may be sent from its moment after the reading until the spread after its
// moment after the sending. No clock of a process matters, and the duration of the round trip is a part of the
// spread. A call that is too late joins its line again.
//
// # Shares
//
// Package grant divides limits between importances, processes and endpoints. In a process, the calls of a line are
// ordered by their ranks, but calls of an account that has had more grants than others come after the others' calls.
//
// # Without Redis
//
// Each process grants itself its part of each limit from its own calendars. It starts 2 s after the loss, when the
// grants of Redis to others have lapsed. A Redis that returns later, is another server or has lost all keys also
// grants nothing that starts within 2 s. The promises are:
//
//   - Redis is away for all: together the processes stay within every limit. There are as many parts as processes
//     that reached Redis last, or Config.Members if that is more. A process that starts without Redis has a part only
//     if Config.Members leaves one. Without a Witness there are always Config.Members parts. Limits of rows are an
//     exception, because one call may match a quarter of such a limit and a process does not know what the calls of
//     others match.
//   - Redis is away for some: these make no calls, because the processes that reach it share the whole limits. They
//     learn this from their Witness. Without a Witness each of them adds its part, so with one of them a window may
//     hold (1 + 1/Members) times the limit.
//   - Redis is back, or was emptied: no window overflows. For a limit of an hour or more, one burst too much may be
//     granted. The share covers it.
//
// # Files
//
//   - waiter.go: Wait and the other methods of a Waiter; terms.go: importance, rank and yielding
//   - dispatcher.go: the waiting calls of a media; line.go: those of one kind, and fairness between accounts
//   - compose.go, deliver.go: building a request for all of them, and distributing its answer
//   - forecast.go: requests for calls that are expected; yield.go: callers that yield their place; unused.go: unused
//     grants
//   - pauses.go, tighten.go: after a refusal; rows.go: how many rows calls match
//   - fallback.go: without Redis; parts.go: a process's part; reconnect.go: what Redis learns when it is back;
//     server.go: which server all use; witness.go: how processes learn of each other without Redis
//   - steps.go: the steps of a process, one at a time, for the simulation of package quota
package ratelimit
