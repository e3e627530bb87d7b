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

// Leadership is the row that decides which process leads.
type Leadership struct{ db *sqldb.DB }

var _ lease.Table = Leadership{}

// LeadershipOf returns the Leadership of the data database, whose time it uses.
func LeadershipOf(data *sqldb.DB) Leadership { return Leadership{db: data} }

// Campaign implements lease.Table.
func (t Leadership) Campaign(
	ctx context.Context, holder string, ttl time.Duration,
) (lease.Lease, time.Duration, error) {
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

// Renew implements lease.Table. A term that has run out and that no other term has followed continues, since no other
// leader wrote meanwhile.
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

// CheckLease returns lease.ErrStaleLease when the lease is not the row's.
func CheckLease(ctx context.Context, d *sqldb.DB, l lease.Lease) error {
	return lockLease(d.Writer(ctx), l, "")
}

// lockLease is CheckLease in a transaction. With Share() it locks the row until the transaction ends.
func lockLease(tx *gorm.DB, l lease.Lease, lock string) error {
	var one int
	err := tx.Raw("SELECT 1 FROM leader WHERE id = 1 AND epoch = ? AND holder = ?"+lock, l.Epoch,
		l.Holder).Row().Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return lease.ErrStaleLease
	}
	if err != nil {
		return fmt.Errorf("check the lease of epoch %d: %w", l.Epoch, err)
	}
	return nil
}

// Tx runs fn in a transaction that first locks the leader's row, so that no other term can begin before it commits.
// Work that fits one statement uses InsertGuarded and UpdateGuarded instead: a leader that is paused in a transaction
// keeps the row locked.
func Tx(ctx context.Context, d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) error {
	return d.Tx(ctx, underLease(d, l, fn))
}

// SerializableTx is Tx at the isolation level SERIALIZABLE: no other transaction can insert rows among those that fn
// reads or changes until it commits.
func SerializableTx(ctx context.Context, d *sqldb.DB, l lease.Lease, fn func(tx *gorm.DB) error) error {
	if d.Dialect() == sqldb.SQLiteDialect { // SQLite has one writer.
		return Tx(ctx, d, l, fn)
	}
	return d.TxOf(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}, underLease(d, l, fn))
}

// IdempotentTx is Tx for an fn that may be repeated after a commit whose answer was lost, see sqldb.DB.IdempotentTx.
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

// GuardedRows is how many rows one guarded INSERT takes: the rows may be a chain of SELECTs, and parsers dislike long
// chains. With more rows it is hardly faster.
const GuardedRows = 500

// InsertGuarded inserts the rows whose key does not exist, as long as the lease holds: each statement reads the
// leader's row with a lock, so that no other term can begin between its check and its commit. It returns
// lease.ErrStaleLease when the lease does not hold. It may be repeated after an error, whatever it has written.
// Values must fit their columns, since IGNORE cuts those that do not.
func InsertGuarded(ctx context.Context, d *sqldb.DB, l lease.Lease, table string, columns []string,
	rows [][]any) error {
	for len(rows) > 0 {
		n, err := d.Fitting(table, 1, rows, len(rows))
		if err != nil {
			return fmt.Errorf("insert into %s: %w", table, err)
		}
		_, err = InsertIf(ctx, d, l, InsertGuard{Check: func() error { return nil }}, table, columns, n,
			func(from, to int) *sqldb.Values {
				return d.ValuesOf(columns, nil, rows[from:to])
			})
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// InsertGuard is a condition on an INSERT in addition to the lease, on rows that stay locked until it commits.
type InsertGuard struct {
	From  string // tables to join, each with a comma before it
	Where string // begins with AND
	Args  []any
	// Check returns why nothing was inserted although the lease holds; nil if the rows existed already.
	Check func() error
}

// InsertIf inserts n rows, which list returns in batches, and reports whether none of them existed.
func InsertIf(ctx context.Context, d *sqldb.DB, l lease.Lease, guard InsertGuard, table string, columns []string, n int,
	list func(from, to int) *sqldb.Values) (all bool, err error) {
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
		// Existing rows and a guard that does not hold have the same effect.
		if err := CheckLease(ctx, d, l); err != nil {
			return false, err
		}
		if err := guard.Check(); err != nil {
			return false, err
		}
	}
	return all, nil
}

func insertGuardedSQL(d *sqldb.DB, l lease.Lease, table string, columns []string, v *sqldb.Values,
	guard InsertGuard) (sql string, args []any) {
	row, args := v.In("o." + strings.Join(columns, ", o."))
	list, listArgs := d.List(v)
	sql = d.Dialect().InsertIgnore() + table + " (" + strings.Join(columns, ", ") + ") SELECT " + row + " FROM " + list +
		" AS o, leader l" + guard.From +
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

// Assign returns an Assignment of an expression, with the values of its placeholders.
func Assign(column, expression string, args ...any) Assignment {
	return Assignment{column: column, value: expression, args: args}
}

// UpdateGuarded updates rows of a table as long as the lease holds, in one statement that locks the leader's row, and
// returns how many rows it changed. If it changed none, the lease may not hold: see CheckLease.
func UpdateGuarded(ctx context.Context, d *sqldb.DB, l lease.Lease, table string, set []Assignment, where string,
	whereArgs ...any) (int64, error) {
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
	// A join locks the rows that it reads; a subquery would not.
	return "UPDATE " + table + " JOIN leader ON leader.id = 1 AND leader.epoch = ? AND leader.holder = ? SET " +
		sqldb.Assignments(table+".", sets) + " WHERE " + where
}
