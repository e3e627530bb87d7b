// Package world is the simulated world: its accounts, ads, creatives and files, their figures and money, the logins
// that reach them, and the clock.
//
// Almost nothing of it is stored: an account, the state of an ad at a moment and a figure are pure functions of the
// seed, the ids and the time, computed from the keys of random.go. So 40,000 accounts start at once, and the same
// seed and clock always give the same world. Only orders and tokens are stored: logins.go, corrections.go, edits.go,
// lives.go.
//
// rows.go has the rows of reports and the configuration of an account at a moment, as a View: the truth, or the data
// as served. spec.go holds what the world needs to know about a platform.
//
// Money is in whole fen (hundredths of a yuan), and in micro-units in the truth, so that no platform's format has to
// round.
package world
