package store

import "adsync/base/lease"

// GuardedSQL returns a guarded INSERT of one tick, and a guarded UPDATE of a run's cursor (arguments in MySQL's order: epoch, holder, cursor, id).
func (d *DB) GuardedSQL(l lease.Lease, tick ...any) (insert Statement, update string) {
	columns := []string{"task_id", "planned_at", "run_id", "made_at"}
	insert.Query, insert.Args = d.insertGuardedSQL(l, "tick", columns, d.valuesOf(columns, nil, [][]any{tick}), insertGuard{})
	return insert, d.updateGuardedSQL("run", []assignment{assign("fan_out_cursor", "?")}, "run.id = ?")
}
