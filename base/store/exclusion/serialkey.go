package exclusion

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// Holds holds which subtask works under each serial key, in serial_hold, and which ones work alone, in floor. A row
// belongs to its subtask, not to a process: it stays between the subtask's deliveries while its work continues outside.
type Holds struct{ *sqldb.Databases }

// SerialHold is a subtask's hold of a serial key.
type SerialHold struct {
	SerialKey string
	task.Key
	Delivery int    // the newest that has claimed the key
	Claim    string // identifies the last claim: a message may come to two processes
}

// claimTries is how often a claim looks again when the key's row was deleted between two statements.
const claimTries = 5

// ClaimSerialKey takes a key for the delivery of a subtask. It returns the holder, which is another subtask, or a newer
// delivery of the same one, if the key is not free. A claim may be repeated.
func (s Holds) ClaimSerialKey(ctx context.Context, want SerialHold) (holder SerialHold, err error) {
	for range claimTries {
		if holder, err = s.claimSerialKey(ctx, want); err != nil || holder.SerialKey != "" {
			break
		}
	}
	if err == nil && holder.SerialKey == "" {
		err = errors.New("its row changes all the time")
	}
	if err != nil {
		return SerialHold{}, fmt.Errorf("claim the serial key %q: %w", want.SerialKey, err)
	}
	return holder, nil
}

func (s Holds) claimSerialKey(ctx context.Context, want SerialHold) (holder SerialHold, err error) {
	d := s.Data.Dialect()
	err = s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		holder = want
		added := tx.Exec(d.InsertIgnore()+"serial_hold (serial_key, run_id, account_id, part, delivery, claim, held_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, "+d.Now()+")", want.SerialKey, want.RunID, want.AccountID, want.Part, want.Delivery,
			want.Claim)
		if added.Error != nil || added.RowsAffected > 0 {
			return added.Error
		}
		err := tx.Raw("SELECT run_id, account_id, part, delivery, claim FROM serial_hold WHERE serial_key = ?"+
			d.ForUpdate(), want.SerialKey).Row().
			Scan(&holder.RunID, &holder.AccountID, &holder.Part, &holder.Delivery, &holder.Claim)
		if errors.Is(err, sql.ErrNoRows) {
			holder = SerialHold{}
			return nil
		}
		if err != nil || holder.Key != want.Key || holder.Delivery > want.Delivery {
			return err
		}
		holder = want
		return tx.Exec("UPDATE serial_hold SET delivery = ?, claim = ? WHERE serial_key = ?", want.Delivery, want.Claim,
			want.SerialKey).Error
	})
	return holder, err
}

// ReleaseSerialKey frees a key, unless another claim holds it.
func (s Holds) ReleaseSerialKey(ctx context.Context, h SerialHold) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Exec("DELETE FROM serial_hold WHERE serial_key = ? AND run_id = ? AND account_id = ?"+
			" AND part = ? AND delivery = ? AND claim = ?", h.SerialKey, h.RunID, h.AccountID, h.Part, h.Delivery,
			h.Claim).Error
	})
	if err != nil {
		return fmt.Errorf("release the serial key %q: %w", h.SerialKey, err)
	}
	return nil
}

// releasedAtOnce is how many rows a search reads at a time.
const releasedAtOnce = 500

// ReleaseEnded frees the keys and floors of subtasks that no longer work: those that have ended or are gone, wait for a
// retry, or were deferred without work outside. Consumers free them themselves; this finds those that a consumer that
// died has left, and those of subtasks that ended while they waited.
func (s Holds) ReleaseEnded(ctx context.Context) error {
	return errors.Join(s.releaseEndedKeys(ctx), s.releaseEndedFloors(ctx))
}

func (s Holds) releaseEndedKeys(ctx context.Context) error {
	for after := ""; ; {
		holds, err := s.serialHolds(ctx, after)
		if err != nil || len(holds) == 0 {
			return err
		}
		after = holds[len(holds)-1].SerialKey
		keys := make([]task.Key, len(holds))
		for i, h := range holds {
			keys[i] = h.Key
		}
		working, err := s.working(ctx, keys)
		if err != nil {
			return err
		}
		for _, h := range holds {
			if working[h.Key] {
				continue
			}
			if err := s.ReleaseSerialKey(ctx, h); err != nil {
				return err
			}
		}
	}
}

func (s Holds) serialHolds(ctx context.Context, after string) ([]SerialHold, error) {
	var all []SerialHold
	query := s.Data.Writer(ctx).Raw("SELECT serial_key, run_id, account_id, part, delivery, claim FROM serial_hold"+
		" WHERE serial_key > ? ORDER BY serial_key LIMIT ?", after, releasedAtOnce)
	err := sqldb.EachRow(query, func(rows *sql.Rows) error {
		var h SerialHold
		err := rows.Scan(&h.SerialKey, &h.RunID, &h.AccountID, &h.Part, &h.Delivery, &h.Claim)
		all = append(all, h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read serial_hold: %w", err)
	}
	return all, nil
}

// working returns which subtasks are at work, or about to be: they wait for a consumer, or their work continues
// outside.
func (s Holds) working(ctx context.Context, keys []task.Key) (map[task.Key]bool, error) {
	states, err := ledger.Outcomes{Databases: s.Databases}.SubtaskStates(ctx, keys)
	if err != nil {
		return nil, err
	}
	var deferred []task.Key
	working := map[task.Key]bool{}
	for k, status := range states {
		switch status.State {
		case task.Waiting:
			working[k] = true
		case task.Deferred:
			deferred = append(deferred, k)
		default:
		}
	}
	if len(deferred) == 0 {
		return working, nil
	}
	due, err := ledger.Subtasks{Databases: s.Databases}.DueOf(ctx, deferred)
	if err != nil {
		return nil, err
	}
	for k, d := range due {
		// A row that is sent already was deferred when its state was read.
		working[k] = d.Outside || d.State != task.Deferred
	}
	return working, nil
}
