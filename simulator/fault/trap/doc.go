// Package trap is the catalogue of traps: the ways in which real platforms mislead clients that trust their answers.
// Switches holds which traps are on, and counts how often each was met.
package trap
