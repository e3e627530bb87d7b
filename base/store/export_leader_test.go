package store

// GuardedSQL returns a guarded INSERT of one tick (arguments: its columns, epoch, holder) and a guarded UPDATE of a run's
// cursor (arguments in MySQL's order: epoch, holder, cursor, id).
func (d *DB) GuardedSQL() (insert, update string) {
	return d.insertGuardedSQL("tick", []string{"task_id", "planned_at", "run_id", "made_at"}, 1, insertGuard{}),
		d.updateGuardedSQL("run", []assignment{{"fan_out_cursor", "?", nil}}, "run.id = ?")
}
