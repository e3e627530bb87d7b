package results

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
)

// TombstonesKept is how long report_tombstone keeps the deletion of a row of results.
const TombstonesKept = 7 * 24 * time.Hour

// tombstonesPerDelete is how many tombstones one statement deletes.
const tombstonesPerDelete = 1000

// DeletePublic deletes rows of a public table or a summary that are older than a version, and records their deletion
// in the same transaction. The caller holds the fence of the rows and has read them in the transaction: all of them
// are older.
func DeletePublic(d *sqldb.DB, tx *gorm.DB, table sqldb.Table, keys [][]any, version int64, now time.Time) error {
	if len(keys) == 0 {
		return nil
	}
	if err := d.DeleteStale(tx, table.Name, table.Key, slices.Clone(keys), version); err != nil {
		return err
	}
	columns := append(append([]string{"table_name"}, table.Key...), "version", "deleted_at")
	if !slices.Contains(table.Key, "day") {
		columns = append(columns, "day") // tables without days record day.Epoch
	}
	for batch := range slices.Chunk(keys, d.RowsPerStatement(len(columns))) {
		args := make([]any, 0, len(batch)*len(columns))
		for _, key := range batch {
			args = append(append(append(args, table.Name), key...), version, sqldb.At(now))
			if !slices.Contains(table.Key, "day") {
				args = append(args, day.Epoch)
			}
		}
		err := tx.Exec("INSERT INTO report_tombstone ("+strings.Join(columns, ", ")+") VALUES "+
			sqldb.Tuples(len(batch), len(columns)), args...).Error
		if err != nil {
			return fmt.Errorf("record the deletion of %s of %s: %w", plural.Count(len(batch), "row", "rows"), table.Name, err)
		}
	}
	return nil
}

// PurgeTombstones deletes the tombstones of deletions that are longer ago than kept, by the database's clock, and
// returns how many it deleted.
func (s Results) PurgeTombstones(ctx context.Context, kept time.Duration) (int, error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("purge tombstones: %w", err)
	}
	gone := 0
	for {
		var ids []int64
		err := s.Data.Writer(ctx).Raw("SELECT id FROM report_tombstone WHERE deleted_at < ? ORDER BY deleted_at, id LIMIT ?",
			sqldb.At(now.Add(-kept)), tombstonesPerDelete).Scan(&ids).Error
		if err != nil {
			return gone, fmt.Errorf("purge tombstones: %w", err)
		}
		if len(ids) == 0 {
			return gone, nil
		}
		slices.Sort(ids)
		err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
			return tx.Exec("DELETE FROM report_tombstone WHERE id IN ?",
				ids).Error
		})
		if err != nil {
			return gone, fmt.Errorf("purge tombstones: %w", err)
		}
		gone += len(ids)
	}
}
