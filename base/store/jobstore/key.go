package jobstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

const keyTable = "job_key"

// PublishOnce writes a job and returns its id, unless one of its queue was published with the same key and that was
// held until a time that has not come: then it returns that one's id, and false. The key is held until until, whatever
// becomes of the job.
func (s *Store) PublishOnce(ctx context.Context, j Job, key string, until, now time.Time) (id ID, isNew bool,
	err error) {
	table := home(j.Queue, j.ID)
	if err := s.ensure(ctx, table); err != nil {
		return id, false, err
	}
	hash := sha256.Sum256([]byte(key))
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		id, isNew = j.ID, true
		res := tx.Exec(s.db.Dialect().InsertIgnore()+keyTable+" (queue_id, hash, id, held_until) VALUES (?, ?, ?, ?)",
			int64(j.Queue), hash[:], j.ID[:], sqldb.At(until))
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			first, heldUntil, err := s.heldBy(tx, j.Queue, hash[:])
			if err != nil {
				return err
			}
			if heldUntil.After(now) {
				id, isNew = first, false
				return nil
			}
			if err := tx.Exec("UPDATE "+keyTable+" SET id = ?, held_until = ? WHERE queue_id = ? AND hash = ?", j.ID[:],
				sqldb.At(until), int64(j.Queue), hash[:]).Error; err != nil {
				return err
			}
		}
		return s.insert(tx, table, [][]any{j.row()})
	})
	if err != nil {
		return id, false, fmt.Errorf("publish a job once: %w", err)
	}
	return id, isNew, nil
}

// heldBy reads and locks a key's row.
func (s *Store) heldBy(tx *gorm.DB, q QueueID, hash []byte) (id ID, until time.Time, err error) {
	type held struct {
		id    ID
		until time.Time
	}
	found, err := sqldb.Rows(tx.Raw("SELECT id, held_until FROM "+keyTable+" WHERE queue_id = ? AND hash = ?"+
		s.db.Dialect().ForUpdate(), int64(q), hash), func(rows *sql.Rows, h *held) error {
		var raw []byte
		var at sqldb.Time
		if err := rows.Scan(&raw, &at); err != nil {
			return err
		}
		h.until = at.Time
		return h.id.scan(raw)
	})
	if err != nil || len(found) == 0 { // Pruned in the meantime: as one that is held no longer.
		return id, until, err
	}
	return found[0].id, found[0].until, nil
}

// PruneKeys forgets keys and slots that are held no longer.
func (s *Store) PruneKeys(ctx context.Context, now time.Time) error {
	for _, table := range []string{keyTable, slotTable} {
		if err := s.prune(ctx, table, "held_until", now); err != nil {
			return err
		}
	}
	return nil
}
