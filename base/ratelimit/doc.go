// Package ratelimit keeps the calls of all processes of a deployment within what the media platforms allow.
//
// Rules say what is allowed, a Limiter grants calls, a Waiter waits for grants on behalf of a caller:
//
//	if err := waiter.Wait(ctx, ratelimit.Call{Media: "tencent", Endpoint: "hourly_reports/get", App: "1", Account: "9"}); err != nil {
//		late, isLate := errors.AsType[*ratelimit.WaitError](err) // isLate: come back after late.After
//	}
//	// … send the request at once …
//
// # Why no sliding window overflows
//
// A platform counts the calls that arrived within its last period, at any moment. A count that starts anew at fixed
// moments lets up to twice the limit through around such a moment, so calls are paced: each limit remembers the time at
// which its calls so far are used up (GCRA's theoretical arrival time), a call moves it on by Every, and may start once
// it is no further ahead than the tolerance, (Burst-1)·Every. Of n calls granted by one limit, the last and the first
// start at least (n-1)·Every - tolerance apart; therefore fewer than W/Every + Burst calls start within any window
// of length W. Every is chosen so that
//
//   - of the calls' starts, any window of the Period holds at most Limit × Share, and
//   - of their arrivals, any window of the Period holds at most Limit, as long as the way from start to arrival
//     takes between d and d + Spread, whatever d is: calls that arrive within a Period started within Period + Spread.
//
// The share (0.95 unless a rule says otherwise) is the margin for what we do not count: requests that a proxy sends
// twice, a colleague at the platform's console, a limit whose real number is a little lower than its documents say, a Redis that
// forgot its keys.
//
// The burst is 1 for periods below a minute: it costs nothing, since at such rates a call waits milliseconds. From a minute on it
// is a twentieth of the allowed calls. Without one, a limit of 10,000 a day would serve one call each 9 s all day, and
// a handful of calls in the morning would wait a minute; with it, the steady rate is a twentieth lower. It is no larger
// for a second reason: when Redis loses all keys in the middle of a window, at most one burst is granted too much, and
// the margin of the default share covers that for every limit above 1.
//
// # Waiting
//
// A call needs a slot of every limit that covers it at once; one script takes all or none. A slot far ahead is
// not handed out: it would be reserved on the other limits too, and one account at its own limit would leave holes in
// the calls of its whole app. So a grant starts at most 25 ms ahead, which is time enough to wake up in, so that no
// slot passes unused; anything later is refused with the moment to come back. Within a process the calls that wait for the same
// limit stand in one queue, first come, first served, and only the head of it asks: a thousand waiting calls cost
// Redis no more than one.
//
// # Three ledgers
//
// The pace is one script of ours in Redis's time, one round trip however many limits cover the call. Limits of a
// minute and more are counted by ulule/limiter as well, at the platform's own number: pace remembers nothing but when to go on,
// so after an operator has lowered a limit only the count knows what the running window has seen. While Redis is away each process paces its
// own calls at its part of the limits (Local).
//
// # What is promised without Redis
//
//   - Away for all: together they stay within every limit, if there are no more processes than Config.Members.
//   - Away for some: those who reach it share the whole limit, for they cannot know of the others. Each that is cut off adds
//     its part, so with one of them a window may hold (1 + 1/Members) times the limit. The platform's refusal then pauses
//     everybody's calls, those of the process that was told at once.
//   - Back, or emptied: nobody's window overflows by more than one burst of a limit, which the share covers.
package ratelimit
