package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/sqldb"
)

// partitions drops the partitions of a table whose days are all before one.
func (p *Pruner) partitions(
	ctx context.Context, table sqldb.Table, before day.Day,
) (dropped int64, done bool, err error) {
	if p.s.Data.Dialect() == sqldb.SQLiteDialect {
		n, err := p.Days(ctx, table.Name, table.Key, before)
		return n, !p.Over(), err
	}
	names, err := partitionsBefore(ctx, p.s.Data, table.Name, before)
	if err != nil {
		return 0, false, err
	}
	for _, name := range names {
		if p.Over() {
			return dropped, false, nil
		}
		began := clock.Mark()
		ok, err := dropPartition(ctx, p.s.Data, table.Name, name)
		if err != nil || !ok {
			return dropped, false, err
		}
		dropped++
		if err := clock.Sleep(ctx, max(dropRest, clock.Since(began))); err != nil {
			return dropped, false, err
		}
	}
	return dropped, true, nil
}

// partitionsBefore returns the partitions of a table whose days are all before one, the oldest first.
func partitionsBefore(ctx context.Context, d *sqldb.DB, table string, before day.Day) ([]string, error) {
	var names []string
	// A partition is named after its last day.
	err := d.Writer(ctx).Raw(
		"SELECT partition_name FROM information_schema.partitions"+
			" WHERE table_schema = DATABASE() AND table_name = ? AND partition_name < ?"+
			" ORDER BY partition_ordinal_position", table, "p"+strings.ReplaceAll(before.String(), "-", "")).Scan(&names).Error
	if err != nil {
		return nil, fmt.Errorf("read the partitions of %s: %w", table, err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return name == sqldb.LaterPartition ||
			!strings.HasPrefix(name, "p")
	}), nil
}

// dropPartition drops a partition unless its table is in use for longer than dropWait.
func dropPartition(ctx context.Context, d *sqldb.DB, table, name string) (ok bool, err error) {
	pool, err := d.SQL()
	if err != nil {
		return false, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var before int
	if err := conn.QueryRowContext(ctx, "SELECT @@SESSION.lock_wait_timeout").Scan(&before); err != nil {
		return false, err
	}
	set := func(seconds int) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", seconds))
		return err
	}
	if err := set(int(dropWait.Seconds())); err != nil {
		return false, err
	}
	_, err = conn.ExecContext(ctx, "ALTER TABLE "+table+" DROP PARTITION "+name)
	if wait, isMySQL := errors.AsType[*mysql.MySQLError](err); isMySQL && wait.Number == lockWaitTimeout {
		return false, set(before)
	}
	if err != nil {
		return false, fmt.Errorf("drop partition %s of %s: %w", name, table, errors.Join(err, set(before)))
	}
	return true, set(before)
}

// lockWaitTimeout is the server's error number for a lock that was not granted in time.
const lockWaitTimeout = 1205
