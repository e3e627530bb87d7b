// Package ledger stores the work that is planned and its outcomes, in the data database: tick and tick_answer,
// manual_order, run, the days of the log (task_log_YYYYMMDD), subtask_due, subtask_dead (written here; read and
// redriven by package dead), outcome_seq, outcome_notice, stop_order, assignment, redis_reached and redis_server.
//
// Transactions. The leader's writes are guarded by its row (package leader). A batch of outcomes is one transaction,
// by consumers or by the leader. Every transaction takes its locks in one order: the leader's row, subtasks by key,
// the rows of subtask_due and subtask_dead, subjects of notices by key, then runs by id. The run's row comes last
// because every consumer needs it.
//
// Promises. A tick has one run. A run's subtasks have the keys that its fan-out chooses, however often the fan-out is
// repeated. An outcome changes a row only while the row is open and holds the outcome's delivery. Each change is
// counted in the run exactly once, also when the answer to the commit was lost. A run ends in the transaction that
// counts its last subtask.
package ledger

import "adsync/base/sqldb"

// RunRows writes runs and fans them out.
type RunRows struct{ *sqldb.Databases }

// Ticks writes the ticks of tasks, the rounds of tasks that start after others, and orders by hand.
type Ticks struct{ *sqldb.Databases }

// Queue stores subtasks that wait for an older run of their task.
type Queue struct{ *sqldb.Databases }

// Subtasks reads the days of the log, and sends again the subtasks that are due or lost.
type Subtasks struct{ *sqldb.Databases }

// Outcomes writes the outcomes of subtasks and ends their runs.
type Outcomes struct{ *sqldb.Databases }

// StopOrders stores the orders by hand that pause or cancel work.
type StopOrders struct{ *sqldb.Databases }

// Witness records which processes reach which Redis server, for the call limits while Redis is away.
type Witness struct{ *sqldb.Databases }
