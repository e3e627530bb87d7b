// Package simulator is a world of advertising accounts behind the platforms' own APIs: a client of a platform only
// needs another host. It has the truth about its figures and a ledger of all calls, so that a test can check whether
// a client's tables are right and whether it exceeded its quota.
//
// This package is the server: the list of platforms (platforms.go), the handling of a call (server.go), the page
// where a login authorises an app (authorise.go) and the state that survives a restart (persist.go). The rest is in
// other packages:
//
//   - world: what exists and what it earned: accounts, ads, figures, money, logins and their tokens, the clock.
//   - platform: what a platform implements, and what it is given: the call, the writer of JSON, the grouping of
//     reports.
//   - a package per platform: its wire format. Each knows its own units, parameters and error codes.
//   - fault: faults that are ordered, alterations of what is served, and what springs traps; fault/trap is the
//     catalogue of the traps.
//   - limit: the platforms' call limits.
//   - night: what a platform's part in the night of a demo is made of; each platform's package has its own.
//   - ledger: the count of all calls.
//   - control: the control API under /_sim/.
//
// Imports run one way: simulator → control, fault, the platforms → platform → world, ledger → limit, night, trap.
//
// There are two clocks: the world's clock determines objects, figures and the ends of tokens. Limits and faults use
// real time, in which clients are paced.
package simulator
