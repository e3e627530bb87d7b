// Package control is the control API under /_sim/, with which tests and people read and change a simulated world:
// credentials, clock, ledger and orders for corrections, edits, limits and faults (orders.go), the truth (truth.go),
// and traps (traps.go). client.go is its client.
package control
