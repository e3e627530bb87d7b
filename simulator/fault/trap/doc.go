// Package trap is the catalogue of the ways in which real platforms mislead clients that take their answers as they
// come. Switches holds which of them are on, and counts how often each was met.
package trap
