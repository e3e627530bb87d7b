// Package client calls the operators' API of a producer. It depends on nothing else of adsync.
//
// The types and calls are made from docs/openapi.yaml, which describes each: client.gen.go, by `make generate`. A call
// that the producer refuses returns its *Problem, and one that cannot be answered now an *AwayError. The command
// client/example is a program that uses it.
package client
