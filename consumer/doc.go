// Package consumer runs the subtasks: it reads their messages, calls their handlers and writes their outcomes.
//
// The path of a message:
//
//	intake.go    the partition's goroutine reads the envelope and waits for a free slot of the lane's pool
//	work.go      the pool reads the subtask's row to check that the delivery is still wanted
//	flight.go    the handler runs, for at most its timeout and a short grace
//	verdict.go   the handler's error decides the outcome: ended, to be retried, or to wait
//	outcomes.go  outcomes are written in batches; only then is the message's offset finished
//
// Some subtasks wait before they get a slot. Serial subtasks wait for their key (serial.go), exclusive ones until they
// are alone in their lane (floor.go); claims in Redis extend both to all processes (claims.go). A lane may also have a
// limit over the slots of all processes (workerslimit.go). Messages of a partition in which a message ends the process
// run one by one (careful.go).
//
// lanes.go opens and closes the pools by the table lane; pool.go is one pool.
//
// A message can arrive more than once and a subtask can run more than once, but its row changes once for each delivery.
// The row decides; what the process remembers only saves reading it. A message is finished only after its outcome is
// written, so that a consumer that dies loses only time.
package consumer
