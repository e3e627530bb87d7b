// Package stage has what scenarios of chaos act on: the servers (stack.go), adsync's processes (instance.go), the
// simulated platforms (world.go), and the history of the tables (sampler.go). What befalls them, and what is asked of
// them after, is in the scenarios.
package stage
