package store

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
