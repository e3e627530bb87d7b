// Package stage has what scenarios of chaos act on: the servers (stack.go), adsync's processes (instance.go), the
// simulated platforms (world.go), and the history of the tables (sampler.go). The faults and the checks are in the
// scenarios.
package stage
