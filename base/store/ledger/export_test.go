package ledger

import (
	"strings"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// Statement is a statement with the values of its placeholders.
type Statement struct {
	Query string
	Args  []any
}

// OutcomeSQL returns the statements by which outcomes change the rows of a run's subtasks, by their purpose.
func OutcomeSQL(d *sqldb.DB, runID int64, of []task.Key) map[string]Statement {
	var keys [][]any
	outcomes := make([]Outcome, len(of))
	for i, k := range of {
		k.RunID = runID
		keys = append(keys, []any{runID, k.AccountID, k.Part})
		outcomes[i] = Outcome{Key: k, Delivery: 1, State: task.Succeeded, Rows: i}
	}
	var update, read, gone Statement
	gone.Query, gone.Args = sqldb.DeleteSQL(d, dueTable.Name, SubtaskKey, keys)
	update.Query, update.Args = sqldb.UpdateSQL(d, subtaskUpdate(LogTable(runID), "t.state = 'waiting'"),
		outcomeValues(d, "x", outcomes))
	read.Query, read.Args = sqldb.LookUpKeys(d, LogTable(runID), SubtaskKey,
		keyValues(d, len(of), func(i int) task.Key { return outcomes[i].Key }))
	read.Query = "SELECT t.delivery FROM " + read.Query + " WHERE t.batch = 'x'"
	return map[string]Statement{
		"update the subtasks": update, "read the changed ones": read,
		"delete what is not due": gone,
	}
}

// QueuedSQL returns the statement that finds the subtasks queued behind n subtasks.
func QueuedSQL(d *sqldb.DB, n int) string { return queuedSQL(d, n) }

// FanOutSQLs returns the statements that find runs to fan out, by what they find.
func FanOutSQLs(f FanOutFilter, taskID int64, limit int) map[string]Statement {
	all := map[string]Statement{}
	for name, q := range map[string]*runQuery{"ticks": f.ticks(limit), "orders": f.orders(limit),
		"next": nextTick(taskID, f.PausedRuns)} {
		all[name] = Statement{"SELECT " + runColumns + " FROM run " + strings.Join(q.text, " "), q.args}
	}
	return all
}
