package prune

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/base/task"
)

// Pruning deletes in pieces for which no other transaction has to wait: rows by key, with a rest after each piece as
// long as the piece took, and whole partitions, which are left for later when their table is in use. It is not a
// change of results: it marks nothing, and leaves no tombstones.

const (
	// prunePiece is how many rows one statement deletes.
	prunePiece = 1000
	// pruneRestMin is the shortest rest.
	pruneRestMin = 5 * time.Millisecond
	// pruneAccounts is how many accounts' days one statement deletes.
	pruneAccounts = 50
	// dropWait is how long the drop of a partition waits for the users of its table. Later statements wait with it.
	dropWait = time.Second
	// dropRest is the shortest rest after a drop. A transaction that has read the table and wants to write it while a
	// drop waits is rolled back as a deadlock: its next tries must find a moment without one.
	dropRest = 250 * time.Millisecond
)

// Pruner deletes rows until its time is over.
type Pruner struct {
	s     *sqldb.Databases
	until time.Time // by this process's clock
}

// Pruner returns a Pruner that works for some time, and ends with the piece at hand.
func (s Pruning) Pruner(budget time.Duration) *Pruner {
	return &Pruner{s: s.Databases, until: clock.Mark().Add(budget)}
}

// Over reports whether its time is over: the rest is left to the next Pruner.
func (p *Pruner) Over() bool { return clock.Since(p.until) >= 0 }

// pieces calls piece until it deletes no rows or the time is over, and returns how many rows it deleted.
func (p *Pruner) pieces(ctx context.Context, piece func() (int64, error)) (gone int64, err error) {
	for !p.Over() {
		began := clock.Mark()
		n, err := piece()
		gone += n
		if err != nil || n == 0 {
			return gone, err
		}
		if err := clock.Sleep(ctx, max(pruneRestMin, clock.Since(began))); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// Days deletes the rows of days before one from a table whose primary key begins with the day, the oldest first.
func (p *Pruner) Days(ctx context.Context, table string, key []string, before day.Day) (int64, error) {
	gone, err := p.pieces(ctx, func() (int64, error) { return pruneFirst(ctx, p.s.Data, table, key, "day < ?", before) })
	if err != nil {
		return gone, fmt.Errorf("prune %s: %w", table, err)
	}
	return gone, nil
}

// pruneFirst deletes a piece of the rows that a condition on the beginning of the key chooses, in the key's order.
func pruneFirst(
	ctx context.Context, d *sqldb.DB, table string, key []string, where string, args ...any,
) (int64, error) {
	order := strings.Join(key, ", ")
	if d.Dialect() == sqldb.SQLiteDialect { // SQLite has no DELETE with a limit.
		where = "(" + order + ") IN (SELECT " + order + " FROM " + table + " WHERE " + where + " ORDER BY " + order +
			" LIMIT ?)"
		res := d.Writer(ctx).Exec("DELETE FROM "+table+" WHERE "+where, append(args, prunePiece)...)
		return res.RowsAffected, res.Error
	}
	// The keys are read without locks: a DELETE with a range would wait for the first row after it, which is in use.
	keys, err := readKeys(d.Writer(ctx).Raw("SELECT "+order+" FROM "+table+" WHERE "+where+" ORDER BY "+order+" LIMIT ?",
		append(args, prunePiece)...), len(key))
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	err = d.Tx(ctx, func(tx *gorm.DB) error {
		for batch := range slices.Chunk(keys, d.RowsPerStatement(len(key))) {
			if err := tx.Exec("DELETE t FROM "+table+" t"+d.Dialect().ForceIndex(table, "PRIMARY")+" WHERE "+
				d.InTuples(key, len(batch)), sqldb.Flatten(batch, len(key))...).Error; err != nil {
				return err
			}
		}
		return nil
	})
	return int64(len(keys)), err
}

// readKeys reads rows of a key's columns: integers, texts and days.
func readKeys(query *gorm.DB, width int) (keys [][]any, err error) {
	rows, err := query.Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		key, into := make([]any, width), make([]any, width)
		for i := range key {
			into[i] = &key[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i := range key {
			switch v := key[i].(type) {
			case []byte:
				key[i] = string(v)
			case time.Time:
				key[i] = day.Of(v, time.UTC)
			}
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// Public deletes the days before one of a report: its rows, for the daily one also those of wide_daily, and their
// coverage, so that nothing is rebuilt from incomplete days. It returns how many partitions it dropped (on SQLite,
// rows), and done = false when something is left to the next call: its time is over, a table is in use, or a summary
// lacks a day's newest figures. Before anything goes it records up to which day the report is pruned.
func (p *Pruner) Public(ctx context.Context, hourly bool, before day.Day) (gone int64, done bool, err error) {
	tables := []sqldb.Table{results.ReportTable(hourly)}
	if !hourly {
		tables = append(tables, summaries.WideTable)
	}
	old, err := hasOld(ctx, p.s.Data, tables, before)
	if err != nil || !old {
		return 0, err == nil, err
	}
	// Once that is recorded, the summaries of these days no longer follow their marks.
	if dirty, err := anyDirty(ctx, p.s.Data, summaries.ReportName(hourly), before); err != nil || dirty {
		return 0, false, err
	}
	if err := (Pruning{Databases: p.s}).RecordPruned(ctx, summaries.ReportName(hourly), before); err != nil {
		return 0, false, err
	}
	if done, err := p.marks(ctx, summaries.ReportName(hourly), before); err != nil || !done {
		return 0, false, err
	}
	for _, table := range tables {
		n, done, err := p.partitions(ctx, table, before)
		gone += n
		if err != nil || !done {
			return gone, false, err
		}
	}
	return gone, true, nil
}

// anyDirty reports whether a summary lacks figures of a report's day before one.
func anyDirty(ctx context.Context, d *sqldb.DB, report string, before day.Day) (bool, error) {
	var media []string
	if err := d.Writer(ctx).Raw("SELECT DISTINCT media FROM coverage").Scan(&media).Error; err != nil {
		return false, fmt.Errorf("read the media of coverage: %w", err)
	}
	for _, m := range media { // By the index of marks.
		dirty, err := sqldb.Exists(d.Writer(ctx),
			"SELECT 1 FROM coverage WHERE media = ? AND dirty > 0 AND report = ? AND level = ? AND day > ? AND day < ? LIMIT 1",
			m, report, settings.AccountLevel, day.Epoch, before)
		if dirty || err != nil {
			return dirty, err
		}
	}
	return false, nil
}

// hasOld reports whether a table has partitions (on SQLite, rows) that hold only days before one.
func hasOld(ctx context.Context, d *sqldb.DB, tables []sqldb.Table, before day.Day) (bool, error) {
	for _, table := range tables {
		if d.Dialect() == sqldb.SQLiteDialect {
			any, err := sqldb.Exists(d.Writer(ctx), "SELECT 1 FROM "+table.Name+" WHERE day < ? LIMIT 1", before)
			if any || err != nil {
				return any, err
			}
			continue
		}
		names, err := partitionsBefore(ctx, d, table.Name, before)
		if len(names) > 0 || err != nil {
			return true, err
		}
	}
	return false, nil
}

// RecordPruned records that a public table or a summary may lack rows of days before one. From then on summaries of
// such days stay as they are: figures that a later pull writes there are incomplete.
func (s Pruning) RecordPruned(ctx context.Context, table string, before day.Day) error {
	// It only rises, also when retention is made longer again: deleted rows do not come back.
	update := " ON DUPLICATE KEY UPDATE before_day = GREATEST(before_day, VALUES(before_day))"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		update = " ON CONFLICT (table_name) DO UPDATE SET before_day = MAX(before_day, excluded.before_day)"
	}
	if err := s.Data.Writer(ctx).Exec("INSERT INTO pruned (table_name, before_day) VALUES (?, ?)"+update, table,
		before).Error; err != nil {
		return fmt.Errorf("record which days of %s are pruned: %w", table, err)
	}
	return nil
}

// marks deletes the coverage of days of a report before one, so that nothing marks them again; for the daily one also
// their marks for wide_daily. It reads the accounts by key.
func (p *Pruner) marks(ctx context.Context, report string, before day.Day) (done bool, err error) {
	levels := append([]string{settings.AccountLevel}, summaries.ObjectLevels...)
	db := p.s.Data
	for after := int64(0); ; {
		var ids []int64
		err := db.Writer(ctx).Raw("SELECT DISTINCT account_id FROM coverage WHERE account_id > ? ORDER BY account_id LIMIT ?",
			after, pruneAccounts).Scan(&ids).Error
		if err != nil {
			return false, fmt.Errorf("prune coverage: %w", err)
		}
		if len(ids) == 0 {
			return true, nil
		}
		if p.Over() {
			return false, nil
		}
		began := clock.Mark()
		err = db.Tx(ctx, func(tx *gorm.DB) error {
			for _, table := range []string{"unusable_value", "coverage"} {
				res := tx.Exec("DELETE FROM "+table+" WHERE account_id IN ? AND report = ? AND level IN ? AND day > ? AND day < ?",
					ids, report, levels, day.Epoch, before)
				if res.Error != nil {
					return res.Error
				}
			}
			if report != summaries.ReportName(false) {
				return nil
			}
			return tx.Exec("DELETE FROM wide_day WHERE account_id IN ? AND day > ? AND day < ?", ids, day.Epoch, before).Error
		})
		if err != nil {
			return false, fmt.Errorf("prune coverage: %w", err)
		}
		after = ids[len(ids)-1]
		if err := clock.Sleep(ctx, max(pruneRestMin, clock.Since(began))); err != nil {
			return false, err
		}
	}
}

// Dead deletes dead subtasks that died before a moment and that no run redrives.
func (p *Pruner) Dead(ctx context.Context, before time.Time) (int64, error) {
	gone, err := p.pieces(ctx, func() (int64, error) {
		return dead.DeadSubtasks{Databases: p.s}.DropDead(ctx, task.DeadFilter{Until: before}, prunePiece)
	})
	if err != nil {
		return gone, fmt.Errorf("prune dead subtasks: %w", err)
	}
	return gone, nil
}

// Healed deletes dead subtasks that died before a moment and whose days were pulled whole since.
func (p *Pruner) Healed(ctx context.Context, before time.Time) (gone int64, err error) {
	var after task.Key
	_, err = p.pieces(ctx, func() (int64, error) {
		n, looked, last, err := results.Healing{Databases: p.s}.DropHealed(ctx, before, after, prunePiece)
		gone, after = gone+n, last
		return int64(looked), err
	})
	if err != nil {
		return gone, fmt.Errorf("prune healed subtasks: %w", err)
	}
	return gone, nil
}

// Changes deletes changes of configuration that were seen before a moment, account by account.
func (p *Pruner) Changes(ctx context.Context, before time.Time) (gone int64, err error) {
	db := p.s.Data
	after := int64(0)
	_, err = p.pieces(ctx, func() (int64, error) {
		var ids []int64
		err := db.Writer(ctx).Raw(
			"SELECT DISTINCT account_id FROM config_change WHERE account_id > ? ORDER BY account_id LIMIT ?", after,
			pruneAccounts).Scan(&ids).Error
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		after = ids[len(ids)-1]
		return int64(len(ids)), db.Tx(ctx, func(tx *gorm.DB) error {
			res := tx.Exec("DELETE FROM config_change WHERE account_id IN ? AND version < ?", ids, before.UnixMicro())
			gone += res.RowsAffected
			return res.Error
		})
	})
	if err != nil {
		return gone, fmt.Errorf("prune config_change: %w", err)
	}
	return gone, nil
}

// Audit deletes audit entries that are older than a moment. They were written in the order of their ids.
func (p *Pruner) Audit(ctx context.Context, before time.Time) (int64, error) {
	db := p.s.Config
	gone, err := p.pieces(ctx, func() (int64, error) {
		var rows []struct {
			ID int64
			At sqldb.Time
		}
		err := db.Writer(ctx).Raw("SELECT id, at FROM audit_log ORDER BY id LIMIT ?", prunePiece).Scan(&rows).Error
		if err != nil {
			return 0, err
		}
		var ids []int64
		for _, r := range rows {
			if !r.At.Before(before) {
				break
			}
			ids = append(ids, r.ID)
		}
		if len(ids) == 0 {
			return 0, nil
		}
		res := db.Writer(ctx).Exec("DELETE FROM audit_log WHERE id IN ?", ids)
		return res.RowsAffected, res.Error
	})
	if err != nil {
		return gone, fmt.Errorf("prune audit_log: %w", err)
	}
	return gone, nil
}

// StopOrders deletes stop orders that ended before a moment.
func (p *Pruner) StopOrders(ctx context.Context, before time.Time) (int64, error) {
	gone, err := p.pieces(ctx, func() (int64, error) {
		return pruneFirst(ctx, p.s.Data, "stop_order", []string{"id"}, "id < ? AND state = ? AND ended_at < ?",
			task.FirstRunIDAt(before), ledger.StopEnded, sqldb.At(before))
	})
	if err != nil {
		return gone, fmt.Errorf("prune stop_order: %w", err)
	}
	return gone, nil
}

// Summaries deletes the rows of both summaries of days before one. It first records up to which day they are pruned:
// otherwise a rebuild for a few accounts would restore only the rows of their games.
func (p *Pruner) Summaries(ctx context.Context, before day.Day) (int64, error) {
	for _, hourly := range []bool{false, true} {
		if err := (Pruning{Databases: p.s}).RecordPruned(ctx, summaries.SummaryTable(hourly).Name, before); err != nil {
			return 0, err
		}
	}
	daily, err := p.Days(ctx, summaries.SummaryTable(false).Name, summaries.SummaryTable(false).Key, before)
	if err != nil {
		return daily, err
	}
	hourly, err := p.Days(ctx, summaries.SummaryTable(true).Name, summaries.SummaryTable(true).Key, before)
	return daily + hourly, err
}
