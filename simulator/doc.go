// Package simulator is a world of advertising accounts behind the platforms' own APIs: a client made for a platform
// works against it with nothing changed but the host. It keeps the truth about its figures and a ledger of all calls,
// so that a test can ask whether a client's tables are right and whether it overspent its quota.
//
// How it fits together:
//
//   - world.go, ad.go, project.go, figures.go: what exists and what it earned. Nothing of it is stored: an account, an
//     ad's state at a moment and a figure are pure functions of the seed, the ids and the time, made of random.go's
//     keys. So 40,000 accounts start at once and the same seed and clock always give the same world.
//   - rows.go: report rows and configuration objects of an account at a moment, as a view: the truth (with ordered
//     corrections.go), or what is served (with alter.go on top).
//   - spec.go, server.go: what a platform is to the rest, and the way of a call: faults.go first, then the platform's
//     own checks, limits.go, its answer, ledger.go.
//   - tencent*.go, oceanengine*.go: the wire formats. They share report.go (grouping and sorting) and json.go, and
//     nothing else: each knows its own units, parameters and error codes. Another platform is one such file and its
//     line in platforms.
//   - traps*.go: what real platforms do to clients that trust them, with a count of each; in worlds that have traps.
//   - logins.go: apps, tokens and who reaches which account.
//   - control.go, orders.go, choose.go, truth.go: the control API under /_sim/.
//   - persist.go: what survives a restart.
//
// Money is in fen (hundredths of a yuan) inside, whole by construction, and in micro-units in the truth, so that no
// platform's format has to round. Two clocks are at work: the world's (clock.go), which decides what exists, figures
// and the ends of tokens; and real time, which limits and faults count in, since clients are paced in it.
package simulator
