package leader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/sqldb"
)

// Leadership is the row that decides who leads.
type Leadership struct{ db *sqldb.DB }

var _ lease.Table = Leadership{}

// LeadershipOf returns the row that decides who leads, by the time of the data database.
func LeadershipOf(data *sqldb.DB) Leadership { return Leadership{db: data} }

// Campaign implements lease.Table.
func (t Leadership) Campaign(ctx context.Context, holder string, ttl time.Duration) (lease.Lease, time.Duration, error) {
	d := t.db.Dialect()
	won := t.db.Writer(ctx).Exec("UPDATE leader SET epoch = epoch + 1, holder = ?, expires_at = "+d.NowPlus(ttl)+
		" WHERE id = 1 AND (expires_at <= "+d.Now()+" OR holder = ?)", holder, holder)
	if won.Error != nil {
		return lease.Lease{}, 0, fmt.Errorf("campaign for the lead: %w", won.Error)
	}
	var l lease.Lease
	var expires, now sqldb.Time
	err := t.db.Writer(ctx).Raw("SELECT epoch, holder, expires_at, "+d.Now()+" FROM leader WHERE id = 1").Row().
		Scan(&l.Epoch, &l.Holder, &expires, &now)
	if err != nil {
		return lease.Lease{}, 0, fmt.Errorf("campaign for the lead: %w", err)
	}
	if won.RowsAffected == 0 || l.Holder != holder {
		return lease.Lease{}, expires.Sub(now.Time), nil
	}
	return l, 0, nil
}

// Renew implements lease.Table. A term that has run out but that nobody has ended goes on: nobody wrote meanwhile.
func (t Leadership) Renew(ctx context.Context, l lease.Lease, ttl time.Duration) error {
	res := t.db.Writer(ctx).Exec("UPDATE leader SET expires_at = "+t.db.Dialect().NowPlus(ttl)+
		" WHERE id = 1 AND epoch = ? AND holder = ?", l.Epoch, l.Holder)
	if res.Error != nil {
		return fmt.Errorf("renew the lease of epoch %d: %w", l.Epoch, res.Error)
	}
	if res.RowsAffected > 0 {
		return nil
	}
	return CheckLease(ctx, t.db, l) // a renewal within the same millisecond changes no row either
}

// Resign implements lease.Table.
func (t Leadership) Resign(ctx context.Context, l lease.Lease) error {
	err := t.db.Writer(ctx).Exec("UPDATE leader SET holder = '', expires_at = "+t.db.Dialect().Now()+
		" WHERE id = 1 AND epoch = ? AND holder = ?", l.Epoch, l.Holder).Error
	if err != nil {
		return fmt.Errorf("resign the lead of epoch %d: %w", l.Epoch, err)
	}
	return nil
}

// CheckLease returns lease.ErrStaleLease when the lease is not the one of the row.
func CheckLease(ctx context.Context, d *sqldb.DB, l lease.Lease) error {
	return lockLease(d.Writer(ctx), l, "")
}

// lockLease does the same within a transaction, and with Share() keeps the row as it is until the transaction ends.
func lockLease(tx *gorm.DB, l lease.Lease, lock string) error {
	var one int
	err := tx.Raw("SELECT 1 FROM leader WHERE id = 1 AND epoch = ? AND holder = ?"+lock, l.Epoch, l.Holder).Row().Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return lease.ErrStaleLease
	}
	if err != nil {
		return fmt.Errorf("check the lease of epoch %d: %w", l.Epoch, err)
	}
	return nil
}

// Tx runs fn in a transaction that first locks the leader's row, so that no other term can begin before it is
// committed. Whatever one statement can do is done with InsertGuarded and UpdateGuarded instead: a leader that is paused
// inside a transaction keeps the row.
func Tx(ctx context.Context, d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) error {
	return d.Tx(ctx, underLease(d, l, fn))
}

// TxThatKeepsRowsOut does the same, and nobody can put rows among those that fn reads or changes until it is committed.
func TxThatKeepsRowsOut(ctx context.Context, d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) error {
	if d.Dialect() == sqldb.SQLiteDialect { // It has one writer.
		return Tx(ctx, d, l, fn)
	}
	return d.TxOf(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}, underLease(d, l, fn))
}

// IdempotentTx does the same with IdempotentTx.
func IdempotentTx(ctx context.Context, d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) error {
	return d.IdempotentTx(ctx, underLease(d, l, fn))
}

func underLease(d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) func(tx *gorm.DB) error {
	return func(tx *gorm.DB) error {
		if err := lockLease(tx, l, d.Dialect().Share()); err != nil {
			return err
		}
		failpoint.Hit("store.leader_tx.locked")
		return fn(tx)
	}
}

// GuardedRows is how many rows one guarded INSERT takes: the rows may be a chain of SELECTs, which parsers do not
// like to be long. With more it is hardly faster.
const GuardedRows = 500

// InsertGuarded inserts the rows whose key is not there yet, as long as the lease holds: each statement reads the
// leader's row with a lock, or else another term could begin between its check and its commit. It returns
// lease.ErrStaleLease when the lease does not hold. It may be repeated after an error, whatever was written of it.
// Values must fit their columns, for IGNORE cuts what does not.
func InsertGuarded(ctx context.Context, d *sqldb.DB, l lease.Lease, table string, columns []string, rows [][]any) error {
	for len(rows) > 0 {
		n, err := d.Fitting(table, 1, rows, len(rows))
		if err != nil {
			return fmt.Errorf("insert into %s: %w", table, err)
		}
		_, err = InsertIf(ctx, d, l, InsertGuard{Check: func() error { return nil }}, table, columns, n, func(from, to int) *sqldb.Values {
			return d.ValuesOf(columns, nil, rows[from:to])
		})
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// InsertGuard is a further condition on an INSERT beside the lease, on rows that stay locked until it is committed.
type InsertGuard struct {
	From  string // tables to join, each with a comma before it
	Where string // begins with AND
	Args  []any
	// check tells why nothing was inserted though the lease holds; nil if only since the rows were there already.
	Check func() error
}

// InsertIf inserts n rows, of which list gives some, and tells whether none of them was there already.
func InsertIf(ctx context.Context, d *sqldb.DB, l lease.Lease, guard InsertGuard, table string, columns []string, n int, list func(from, to int) *sqldb.Values) (all bool, err error) {
	most := min(GuardedRows, d.RowsPerStatement(len(columns)))
	all = true
	for from := 0; from < n; from += most {
		batch := list(from, min(from+most, n))
		statement, args := insertGuardedSQL(d, l, table, columns, batch, guard)
		var inserted int64
		err := d.Retry(ctx, func() error {
			var err error
			inserted, err = d.ExecMany(d.Writer(ctx), statement, args, false)
			return err
		})
		if err != nil {
			return false, err
		}
		if inserted == int64(batch.Rows) {
			continue
		}
		all = false
		// Rows that were there already and a guard that does not hold look alike.
		if err := CheckLease(ctx, d, l); err != nil {
			return false, err
		}
		if err := guard.Check(); err != nil {
			return false, err
		}
	}
	return all, nil
}

func insertGuardedSQL(d *sqldb.DB, l lease.Lease, table string, columns []string, v *sqldb.Values, guard InsertGuard) (sql string, args []any) {
	row, args := v.In("o." + strings.Join(columns, ", o."))
	list, listArgs := d.List(v)
	sql = d.Dialect().InsertIgnore() + table + " (" + strings.Join(columns, ", ") + ") SELECT " + row + " FROM " + list + " AS o, leader l" + guard.From +
		" WHERE l.id = 1 AND l.epoch = ? AND l.holder = ?" + guard.Where + d.Dialect().Share()
	return sql, slices.Concat(args, listArgs, []any{l.Epoch, l.Holder}, guard.Args)
}

// Assignment is one "column = expression" of an UPDATE. The expression must not read a column that the same statement
// assigns: MySQL would see the new value, SQLite the old one.
type Assignment struct {
	column string
	value  string
	args   []any
}

// Assign assigns an expression, with what its placeholders stand for.
func Assign(column, expression string, args ...any) Assignment {
	return Assignment{column: column, value: expression, args: args}
}

// UpdateGuarded updates rows of a table as long as the lease holds, in one statement that locks the leader's row, and
// returns how many rows it changed. Nothing changed may mean that the lease does not hold: ask CheckLease.
func UpdateGuarded(ctx context.Context, d *sqldb.DB, l lease.Lease, table string, set []Assignment, where string, whereArgs ...any) (int64, error) {
	var setArgs []any
	for _, a := range set {
		setArgs = append(setArgs, a.args...)
	}
	guard := []any{l.Epoch, l.Holder}
	args := slices.Concat(guard, setArgs, whereArgs) // in the order of the statement
	if d.Dialect() == sqldb.SQLiteDialect {
		args = slices.Concat(setArgs, whereArgs, guard)
	}
	statement := updateGuardedSQL(d, table, set, where)
	var changed int64
	err := d.Retry(ctx, func() error {
		res := d.Writer(ctx).Exec(statement, args...)
		changed = res.RowsAffected
		return res.Error
	})
	return changed, err
}

func updateGuardedSQL(d *sqldb.DB, table string, set []Assignment, where string) string {
	sets := make([][2]string, len(set))
	for i, a := range set {
		sets[i] = [2]string{a.column, a.value}
	}
	if d.Dialect() == sqldb.SQLiteDialect {
		return "UPDATE " + table + " SET " + sqldb.Assignments("", sets) + " WHERE " + where +
			" AND EXISTS (SELECT 1 FROM leader WHERE leader.id = 1 AND leader.epoch = ? AND leader.holder = ?)"
	}
	// A join locks what it reads; a subquery would not.
	return "UPDATE " + table + " JOIN leader ON leader.id = 1 AND leader.epoch = ? AND leader.holder = ? SET " +
		sqldb.Assignments(table+".", sets) + " WHERE " + where
}
