package store

import "strings"

// OutcomeSQL returns the statements by which n outcomes reach the rows of their subtasks, by what they do.
func (d *DB) OutcomeSQL(logTable string, n int) map[string]string {
	return map[string]string{
		"update the subtasks":    d.updateSQL(subtaskUpdate(logTable), n),
		"read the changed ones":  "SELECT t.delivery FROM " + d.lookUp(logTable, subtaskKey, n) + " WHERE t.batch = 'x'",
		"delete what is not due": d.deleteSQL(dueTable.Name, subtaskKey, n),
	}
}

// QueuedSQL returns the statement that finds what is queued behind n subtasks.
func (d *DB) QueuedSQL(n int) string { return d.queuedSQL(n) }

// FanOutSQL is a statement that finds runs to fan out, and what its placeholders stand for.
type FanOutSQL struct {
	Query string
	Args  []any
}

// FanOutSQLs returns the statements by what they find.
func FanOutSQLs(f FanOuts, taskID int64, limit int) map[string]FanOutSQL {
	all := map[string]FanOutSQL{}
	for name, q := range map[string]*runQuery{"ticks": f.ticks(limit), "orders": f.orders(limit), "next": nextTick(taskID, f.PausedRuns)} {
		all[name] = FanOutSQL{"SELECT " + runColumns + " FROM run " + strings.Join(q.text, " "), q.args}
	}
	return all
}
