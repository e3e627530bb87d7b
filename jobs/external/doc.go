// Package external lets programs in other languages work the subtasks of tasks, by way of the job queue.
//
//	handler.go  the handlers <media>.external: a subtask is published as a job, and has the job's end as its outcome
//	params.go   the params of their tasks, and the parts of their runs
//	follow.go   the leader's part: ended jobs make their subtasks due, and subtasks that ended withdraw their jobs
//
// The job's id follows from the run, the account, the part and the attempt, so that any number of handlers make one
// job. How it ended is a row of job_watched, which is written with the statement that ends the job and stays until the
// ledger has the outcome. While the job waits and is worked on, its subtask is deferred: it has no slot, and no attempt
// counts.
package external
