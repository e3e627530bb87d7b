// Package jobs is the job queue over HTTP. It speaks the protocol of lmstfy (https://github.com/bitleak/lmstfy), so
// that its clients need only another address, and keeps every job whose publication it has answered.
//
//	server.go      the two listeners, and what both answer alike
//	route.go       the routes, the names and tokens of requests
//	publish.go     publish, republish, bulk
//	consume.go     consume, peek, acknowledge, sizes
//	deadletter.go  dead letters
//	admin.go       the admin port: tokens and their limits, version, metrics, profiles
//	limit.go       what a token may do in a time
//	lmstfy.go      the metrics with lmstfy's names
//	queue.go       publications and acknowledgements that share transactions
//	desk.go        claims, and the polls that wait for jobs
//	look.go        what finds ready jobs that nobody announced, buries dead ones and retires tables
//
// The tables decide. What a process remembers of them (which queues have ready jobs, since when) only saves looking:
// whatever it misses, the look of the next second or minute finds.
package jobs
