package results

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// fillBatch is how many rows one transaction of FillColumn reads.
const fillBatch = 500

// ColumnFill is how a column of a report's raw table, and the column of the public table that it feeds, are filled
// from the JSON of the raw rows.
type ColumnFill struct {
	Report string // as coverage names it
	Hourly bool
	Raw    rawtable.Table
	Column string // of the raw table
	Metric string // the column of the public table
	// Read returns a row's values for both, and whether its JSON has them. An error that wraps ErrUnusableValue leaves
	// the row as it is; any other ends the fill.
	Read func(json string) (raw, value int64, ok bool, err error)
}

// ErrUnusableValue is wrapped by the error for a value in a row's JSON that cannot be used.
var ErrUnusableValue = errors.New("unusable value")

// ColumnFilled counts rows whose column was NULL.
type ColumnFilled struct {
	Rows     int   // now filled
	Unusable int   // still NULL, because the value in their JSON cannot be used
	Example  error // the first unusable one; nil if there is none
}

// Add adds the rows of another day, account or batch.
func (c *ColumnFilled) Add(more ColumnFilled) {
	c.Rows += more.Rows
	c.Unusable += more.Unusable
	if c.Example == nil {
		c.Example = more.Example
	}
}

// RawLevels returns the accounts and levels with rows in a raw table of days or hours on a day, by account and level.
func (s Backfill) RawLevels(ctx context.Context, t rawtable.Table, d day.Day) ([]LevelOf, error) {
	var levels []LevelOf
	err := s.Data.Writer(ctx).Raw("SELECT DISTINCT account_id, level FROM "+t.Name+
		" WHERE day = ? ORDER BY account_id, level", d).Scan(&levels).Error
	if err != nil {
		return nil, fmt.Errorf("read which accounts %s has on %s: %w", t.Name, d, err)
	}
	return levels, nil
}

// FillColumn fills both columns where they are NULL in the rows of one account, level and day, in batches of a few
// hundred. It returns how many rows it filled, and how many have a value that cannot be used. It marks a changed day
// for the summaries. Each batch holds the scope's fence, so that no pull writes these rows meanwhile. It may be
// repeated, and interrupted anywhere.
func (s Backfill) FillColumn(ctx context.Context, f ColumnFill, of LevelOf, d day.Day) (ColumnFilled, error) {
	var filled ColumnFilled
	for place := (reportKey{day: d, hour: -1}); ; {
		var rows []fillRow
		var n ColumnFilled
		err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
			dirty, err := lockDirty(s.Data, tx, f, of, d)
			if err != nil {
				return err
			}
			if rows, err = readFill(tx, f, of, place); err != nil {
				return err
			}
			if n, err = fillRows(s.Data, tx, f, of, rows); err != nil || n.Rows == 0 {
				return err
			}
			const scope = " WHERE account_id = ? AND report = ? AND level = ? AND day = ?"
			if of.Level != settings.AccountLevel {
				return tx.Exec("UPDATE coverage SET digest = NULL"+scope, of.AccountID, f.Report, of.Level, d).Error
			}
			now, err := s.Data.NowTx(tx)
			if err != nil {
				return err
			}
			return tx.Exec("UPDATE coverage SET digest = NULL, dirty = ?"+scope,
				max(now.UnixMicro(), dirty+1), of.AccountID, f.Report, of.Level, d).Error
		})
		if err != nil {
			return filled, fmt.Errorf("fill %s of %s for account %d at level %s on %s: %w", f.Column, f.Raw.Name, of.AccountID,
				of.Level, d, err)
		}
		filled.Add(n)
		if len(rows) < fillBatch {
			return filled, nil
		}
		place = rows[len(rows)-1].reportKey
	}
}

// lockDirty locks the fence of a scope for the transaction, and returns its dirty mark, or 0.
func lockDirty(d *sqldb.DB, tx *gorm.DB, f ColumnFill, of LevelOf, on day.Day) (int64, error) {
	var marks []int64
	err := tx.Raw("SELECT COALESCE(dirty, 0) FROM coverage WHERE account_id = ? AND report = ? AND level = ? AND day = ?"+
		d.Dialect().ForUpdate(),
		of.AccountID, f.Report, of.Level, on).Scan(&marks).Error
	if err != nil || len(marks) == 0 {
		return 0, err
	}
	return marks[0], nil
}

// fillRow is a raw row whose column is NULL.
type fillRow struct {
	reportKey
	json string
}

// readFill reads the next rows after a place that lack the column.
func readFill(tx *gorm.DB, f ColumnFill, of LevelOf, after reportKey) ([]fillRow, error) {
	hour, order := "0", "object_id"
	if f.Hourly {
		hour, order = "hour", "object_id, hour"
	}
	found, err := tx.Raw("SELECT object_id, "+hour+", row_json FROM "+f.Raw.Name+
		" WHERE day = ? AND account_id = ? AND level = ?"+
		" AND object_id >= ? AND (object_id > ? OR "+hour+" > ?) AND "+f.Column+" IS NULL ORDER BY "+order+" LIMIT ?",
		after.day, of.AccountID, of.Level, after.object, after.object, after.hour, fillBatch).Rows()
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows []fillRow
	for found.Next() {
		r := fillRow{reportKey: reportKey{day: after.day}}
		if err := found.Scan(&r.object, &r.hour, &r.json); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// fillRows writes both columns of the rows whose JSON has the value, in one statement for each distinct value: counts
// of hours and creatives are a handful of small numbers.
func fillRows(d *sqldb.DB, tx *gorm.DB, f ColumnFill, of LevelOf, rows []fillRow) (ColumnFilled, error) {
	type both struct{ raw, value int64 }
	var order []both
	keys := map[both][][]any{}
	var n ColumnFilled
	for _, r := range rows {
		raw, value, ok, err := f.Read(r.json)
		if errors.Is(err, ErrUnusableValue) {
			n.Add(ColumnFilled{Unusable: 1, Example: fmt.Errorf("account %d, level %s, object %q, hour %d: %w", of.AccountID,
				of.Level, r.object, r.hour, err)})
			continue
		}
		if err != nil {
			return n, fmt.Errorf("object %q, hour %d: %w", r.object, r.hour, err)
		}
		if !ok {
			continue
		}
		b := both{raw, value}
		if len(keys[b]) == 0 {
			order = append(order, b)
		}
		keys[b] = append(keys[b], r.args(nil, of.AccountID, of.Level, f.Hourly))
		n.Rows++
	}
	public := ReportTable(f.Hourly)
	for _, b := range order {
		err := fillTuples(d, tx, f.Raw.Name, f.Raw.Key(), keys[b], f.Column+" = ?", f.Column, b.raw)
		if err == nil {
			err = fillTuples(d, tx, public.Name, public.Key, keys[b], f.Metric+" = ?, updated_at = "+d.Dialect().Now(),
				f.Metric, b.value)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// fillTuples sets a column where it is NULL in the rows with the keys.
func fillTuples(d *sqldb.DB, tx *gorm.DB, table string, key []string, keys [][]any, set, column string,
	value int64) error {
	for step := d.RowsPerStatement(len(key)); len(keys) > 0; {
		batch := keys[:min(step, len(keys))]
		keys = keys[len(batch):]
		shards, shardArgs := sqldb.OnShards(d, table, key, batch)
		args := slices.Concat([]any{value}, sqldb.Flatten(batch, len(key)), shardArgs)
		if err := tx.Exec("UPDATE "+table+" SET "+set+" WHERE "+d.InTuples(key, len(batch))+" AND "+column+" IS NULL"+shards,
			args...).Error; err != nil {
			return err
		}
	}
	return nil
}
