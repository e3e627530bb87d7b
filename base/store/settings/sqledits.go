package settings

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// RecordSQLEdits writes into audit_log, as by "sql", the edits by SQL of rows that operators own since the last call.
// Any number of processes may call it at once: each edit is recorded once. Several edits of one row between two calls
// are one. It checks up to editCheckAccounts accounts above after, and returns the id after which the next call
// continues: 0 at the end.
func (s AuditLog) RecordSQLEdits(ctx context.Context, after int64) (next int64, err error) {
	for _, t := range ownedTables {
		if t.quiet {
			next, err = s.recordPartEdits(ctx, t, after)
		} else {
			err = s.recordTableEdits(ctx, t)
		}
		if err != nil {
			return after, fmt.Errorf("record edits of %s: %w", t.name, err)
		}
	}
	return next, nil
}

// editCheckAccounts is how many accounts one call checks; calls come once a minute.
const editCheckAccounts = 20_000

func (s AuditLog) recordPartEdits(ctx context.Context, t *ownedTable, after int64) (next int64, err error) {
	db := s.Config.Writer(ctx)
	for range editCheckAccounts / accountBatch {
		var parts []int64
		err := db.Raw("SELECT "+t.part+" FROM "+t.name+" WHERE "+t.part+" > ? ORDER BY "+t.part+" LIMIT ?", after,
			accountBatch).Scan(&parts).Error
		if err != nil || len(parts) == 0 {
			return 0, err
		}
		if edited, err := t.edited(db, parts); err != nil {
			return after, err
		} else if edited {
			err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
				if _, err := t.lockTable(tx); err != nil {
					return err
				}
				_, err := t.recordEdits(s.Config, tx, parts, "", true)
				return err
			})
			if err != nil {
				return after, err
			}
		}
		after = parts[len(parts)-1]
	}
	return after, nil
}

// edited reports, without a lock, whether there seem to be edits to record.
func (t *ownedTable) edited(db *gorm.DB, parts []int64) (bool, error) {
	now, err := t.read(db, parts, "")
	if err != nil {
		return false, err
	}
	before, err := t.recorded(db, parts)
	if err != nil {
		return false, err
	}
	changes, err := t.changes(before, now)
	return len(changes) > 0, err
}

func (s AuditLog) recordTableEdits(ctx context.Context, t *ownedTable) error {
	// Without a lock first: usually there is nothing to record.
	db := s.Config.Writer(ctx)
	var known sql.NullString
	if err := auditedTable(db, t.name).Select("value").Row().Scan(&known); err != nil {
		return err
	}
	if known.Valid {
		if edited, err := t.edited(db, nil); err != nil || !edited {
			return err
		}
	}
	return s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
		known, err := t.lockTable(tx)
		if err != nil {
			return err
		}
		if !known {
			return t.recordInitial(s.Config, tx)
		}
		_, err = t.recordEdits(s.Config, tx, nil, "", true)
		return err
	})
}

// recordEdits records edits by SQL, and returns the rows as they are now. The caller holds the lock of the table.
func (t *ownedTable) recordEdits(
	d *sqldb.DB, tx *gorm.DB, parts []int64, lock string, known bool,
) (map[string]ownedRow, error) {
	now, err := t.read(tx, parts, lock)
	if err != nil {
		return nil, err
	}
	before, err := t.recorded(tx, parts)
	if err != nil {
		return nil, err
	}
	changes, err := t.changes(before, now)
	if err != nil {
		return nil, err
	}
	for i := range changes {
		changes[i].silent = changes[i].silent || !known
	}
	return now, t.write(d, tx, changes, func(c rowChange) Audit { return Audit{Actor: AuditSQL, Action: "row." + c.verb} })
}
