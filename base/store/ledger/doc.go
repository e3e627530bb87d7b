// Package ledger keeps what is to be done and what became of it, in the data database: tick and tick_answer, manual_order, run, the days of the
// log (task_log_YYYYMMDD), subtask_due, subtask_dead (written here, read and redriven by package dead), stop_order, assignment, and
// redis_reached with redis_server.
//
// Transactions. What the leader writes is guarded by its row (package leader). A batch of outcomes is one transaction, by consumers or the leader.
// Locks are taken in one order by everyone: the leader's row, subtasks by key, then what hangs on them (subtask_due, subtask_dead), then
// runs by id. The run's row comes last since every consumer wants it.
//
// Promises. A tick has one run, and a run's subtasks have the keys that its fan-out gives them however often it is repeated. An outcome
// changes a row only while the row is open and holds the delivery that the outcome names; what it changed is counted in the run
// exactly once, also when the outcome of a commit was unknown. A run ends in the transaction that counts its last subtask.
package ledger

import "adsync/base/sqldb"

// RunRows makes runs and fans them out.
type RunRows struct{ *sqldb.Databases }

// Ticks writes the moments of tasks, the rounds of those that follow others, and orders by hand.
type Ticks struct{ *sqldb.Databases }

// Queue keeps subtasks that wait for an older run of their task.
type Queue struct{ *sqldb.Databases }

// Subtasks reads the days of the log, and sends again what is due or lost.
type Subtasks struct{ *sqldb.Databases }

// Outcomes writes how subtasks ended, and with them how runs end.
type Outcomes struct{ *sqldb.Databases }

// StopOrders keeps what people paused or cancelled.
type StopOrders struct{ *sqldb.Databases }

// Witness keeps how far the use of limits was known to have come, for when Redis is away.
type Witness struct{ *sqldb.Databases }
