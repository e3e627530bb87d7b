// Package consumer does the subtasks: it reads their messages, runs their handlers and writes down what came of it.
//
// The way of a message:
//
//	intake.go    the partition's goroutine reads the envelope and waits for a free slot of the lane's pool
//	work.go      the pool asks the row whether the delivery is still wanted
//	flight.go    the handler runs, for its time and a little longer
//	verdict.go   the handler's error decides the outcome: ended, to be retried, or to wait
//	outcomes.go  outcomes are written in batches; only then is the message's offset finished
//
// Some go another way to their slot: serial subtasks wait for their turn (turns.go), exclusive ones until they are
// alone in their lane (floor.go), both over processes by claims in Redis (claims.go); and messages of a partition in
// which something ends the process go one by one (careful.go).
//
// lanes.go decides which pools there are, from the table lane, and pool.go is one of them.
//
// A message can come more than once and a subtask can be run more than once, but its row changes once for each
// delivery: the row decides, and what is known beside it only saves asking. A message is finished only when its
// outcome is written, so that a consumer that dies loses nothing but time.
package consumer
