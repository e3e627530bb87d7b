package jobstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// rows writes and deletes rows of jobs.
type rows struct {
	db     *sqldb.DB
	tables *tables
}

// insertedAtOnce is how many jobs one statement writes.
const insertedAtOnce = 200

// insert writes rows of jobs into a table, which it sorts.
func (s rows) insert(tx *gorm.DB, table string, jobs [][]any) error {
	return s.insertInto(tx, table, jobColumns, columnCount, jobs)
}

// insertInto writes rows that begin with a queue and an id, in this order.
func (s rows) insertInto(tx *gorm.DB, table, columns string, width int, all [][]any) error {
	slices.SortFunc(all, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(int64), b[0].(int64)), compareIDs(a[1], b[1]))
	})
	for len(all) > 0 {
		n, err := s.db.Fitting(table, 2, all, min(insertedAtOnce, s.db.RowsPerStatement(width)))
		if err != nil {
			return err
		}
		text := "INSERT INTO " + table + " (" + columns + ") VALUES " + sqldb.Tuples(n, width)
		if _, err := s.db.ExecMany(tx, text, sqldb.Flatten(all[:n], width), false); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// compareIDs orders ids as they are written: rows are locked in the order of their keys.
func compareIDs(a, b any) int { return bytes.Compare(a.([]byte), b.([]byte)) }

// deleteFrom deletes jobs from each of some tables.
func (s rows) deleteFrom(tx *gorm.DB, keys []Key, tables ...string) error {
	for _, table := range tables {
		if _, err := s.deleteIn(tx, keys, in(table)); err != nil {
			return err
		}
	}
	return nil
}

// deleteIn deletes jobs, each in the table that of names, and returns how many were not there.
func (s rows) deleteIn(tx *gorm.DB, keys []Key, of func(Key) string) (left int64, err error) {
	byTable := map[string]map[QueueID][]any{}
	for _, k := range keys {
		table := of(k)
		if dayTable.MatchString(table) && !s.tables.has(table) {
			left++
			continue
		}
		if byTable[table] == nil {
			byTable[table] = map[QueueID][]any{}
		}
		byTable[table][k.Queue] = append(byTable[table][k.Queue], k.ID[:])
	}
	for _, table := range sortedKeys(byTable) {
		for _, queue := range sortedKeys(byTable[table]) {
			ids := byTable[table][queue]
			slices.SortFunc(ids, compareIDs)
			changed, err := s.db.ExecMany(tx, deleteSQL(s.db.Dialect(), table, len(ids)),
				append([]any{int64(queue)}, ids...), false)
			if isMissing(err) {
				changed, err = 0, nil
			}
			if err != nil {
				return 0, err
			}
			left += int64(len(ids)) - changed
		}
	}
	return left, nil
}

// deleteSQL deletes by the primary key: the optimiser might otherwise read a small table whole, and wait for rows that
// others have locked.
func deleteSQL(d sqldb.Dialect, table string, n int) string {
	where := " WHERE queue_id = ? AND id IN " + sqldb.Tuples(1, n)
	if d == sqldb.SQLiteDialect {
		return "DELETE FROM " + table + where
	}
	return "DELETE t FROM " + table + " AS t" + d.ForceIndex(table, "PRIMARY") + where
}

// prune deletes rows of a table whose time in a column, which begins an index of that name, has passed.
func (s rows) prune(ctx context.Context, table, column string, before time.Time) error {
	for {
		limit := " LIMIT 1000"
		if s.db.Dialect() == sqldb.SQLiteDialect {
			limit = ""
		}
		res := s.db.Writer(ctx).Exec("DELETE FROM "+table+" WHERE "+column+" < ?"+limit, sqldb.At(before))
		if res.Error != nil {
			return fmt.Errorf("prune %s: %w", table, res.Error)
		}
		if limit == "" || res.RowsAffected < 1000 {
			return nil
		}
	}
}
