// Package world is everything that is simulated: which accounts, ads, creatives and files exist, what they earned
// and what money they have, who may reach them, and what time it is.
//
// Hardly anything of it is stored: an account, the state of an ad at a moment and a figure are pure functions of the
// seed, the ids and the time, made of the keys of random.go. So 40,000 accounts start at once, and the same seed and
// clock always give the same world. What was ordered is kept: tokens (logins.go), corrections.go, edits.go,
// lives.go.
//
// rows.go has the rows of reports and the configuration of an account at a moment, as a View: the truth, or what is
// served of it. spec.go is what the world must know of a platform.
//
// Money is in fen (hundredths of a yuan), whole by construction, and in micro-units in the truth, so that no
// platform's format has to round.
package world
