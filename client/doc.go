// Package client calls the operators' API of a producer. It depends on nothing else of adsync.
//
// "make generate" makes the types and calls of client.gen.go from docs/openapi.yaml, which describes each. A call that
// the producer refuses returns its *Problem. A call that cannot be answered now returns an *AwayError.
// BackUpDead writes dead subtasks to a file before they are dropped. Package client/outcomes follows the ends of
// subtasks.
//
// The command client/example orders a report file with this package, and waits until it is delivered with the other.
package client
