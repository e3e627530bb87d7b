package leader

import (
	"adsync/base/lease"
	"adsync/base/sqldb"
)

// GuardedSQL returns a guarded INSERT of one tick with its arguments, and a guarded UPDATE of a run's cursor. The
// arguments of the UPDATE are epoch, holder, cursor and id, in MySQL's order.
func GuardedSQL(d *sqldb.DB, l lease.Lease, tick ...any) (insert string, args []any, update string) {
	columns := []string{"task_id", "planned_at", "run_id", "made_at"}
	insert, args = insertGuardedSQL(d, l, "tick", columns, d.ValuesOf(columns, nil, [][]any{tick}), InsertGuard{})
	return insert, args, updateGuardedSQL(d, "run", []Assignment{Assign("fan_out_cursor", "?")}, "run.id = ?")
}
