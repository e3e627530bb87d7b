package settings

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// NoteEdits writes into audit_log, as by "sql", what was edited by SQL in the rows that operators own since it was last noted. Any
// number of processes may do so at once: each edit is noted once. Edits of one row between two looks are one. Of accounts it looks at
// those above after, as many as noteAtOnce, and returns what to go on after: 0 when it has come to the end.
func (s Trail) NoteEdits(ctx context.Context, after int64) (next int64, err error) {
	for _, t := range ownedTables {
		if t.quiet {
			next, err = s.noteParts(ctx, t, after)
		} else {
			err = s.noteEdits(ctx, t)
		}
		if err != nil {
			return after, fmt.Errorf("note edits of %s: %w", t.name, err)
		}
	}
	return next, nil
}

// noteAtOnce is how many accounts one look takes: a minute's, where there are no more.
const noteAtOnce = 20_000

func (s Trail) noteParts(ctx context.Context, t *ownedTable, after int64) (next int64, err error) {
	db := s.Config.Writer(ctx)
	for range noteAtOnce / accountBatch {
		var parts []int64
		err := db.Raw("SELECT "+t.part+" FROM "+t.name+" WHERE "+t.part+" > ? ORDER BY "+t.part+" LIMIT ?", after, accountBatch).Scan(&parts).Error
		if err != nil || len(parts) == 0 {
			return 0, err
		}
		if edited, err := t.edited(db, parts); err != nil {
			return after, err
		} else if edited {
			err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
				if _, err := t.hold(tx); err != nil {
					return err
				}
				_, err := t.note(s.Config, tx, parts, "", true)
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

// edited tells, without a lock, whether there seems to be something to note.
func (t *ownedTable) edited(db *gorm.DB, parts []int64) (bool, error) {
	now, err := t.read(db, parts, "")
	if err != nil {
		return false, err
	}
	before, err := t.seen(db, parts)
	if err != nil {
		return false, err
	}
	changes, err := t.changes(before, now)
	return len(changes) > 0, err
}

func (s Trail) noteEdits(ctx context.Context, t *ownedTable) error {
	// Without a lock first: mostly there is nothing to note.
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
		known, err := t.hold(tx)
		if err != nil {
			return err
		}
		if !known {
			return t.begin(s.Config, tx)
		}
		_, err = t.note(s.Config, tx, nil, "", true)
		return err
	})
}

// note tells of edits by SQL, and returns the rows as they are now. The table is held.
func (t *ownedTable) note(d *sqldb.DB, tx *gorm.DB, parts []int64, lock string, known bool) (map[string]ownedRow, error) {
	now, err := t.read(tx, parts, lock)
	if err != nil {
		return nil, err
	}
	before, err := t.seen(tx, parts)
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
