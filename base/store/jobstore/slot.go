package jobstore

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// slots bounds the claims of queues that have limits.
//
// Claims of a queue whose rate or concurrency is limited lock the queue's row first, so that they follow each other.
type slots struct {
	rows
	names Names
}

// allowance is how many jobs a claim may take now.
type allowance struct {
	jobs   int
	rateAt time.Time     // the queue's, with no job
	each   time.Duration // by which each job moves it; 0 without a rate
	next   time.Time     // when the rate allows the next job; zero if something else is full
}

// allowed returns how many of limit jobs the settings of a queue let a claim take.
func (s slots) allowed(tx *gorm.DB, q QueueID, settings Settings, limit int, now time.Time) (a allowance, err error) {
	a.jobs = limit
	var rateAt int64
	err = tx.Raw("SELECT rate_at FROM job_queue WHERE id = ?"+s.db.Dialect().ForUpdate(), int64(q)).Row().Scan(&rateAt)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil // A queue without a row has no settings any longer.
	}
	if err != nil {
		return a, fmt.Errorf("lock a queue: %w", err)
	}
	if r := settings.Rate; r != nil {
		// The generic cell rate algorithm: a burst of a whole period's jobs, after an idle one.
		period := time.Duration(r.Seconds) * time.Second
		a.each = max(period/time.Duration(r.Jobs), time.Microsecond)
		a.rateAt = time.UnixMicro(rateAt)
		if a.rateAt.Before(now) {
			a.rateAt = now
		}
		free := int(now.Add(period).Sub(a.rateAt) / a.each)
		if free < a.jobs {
			a.jobs = max(0, free)
		}
		if a.jobs == 0 {
			a.next = a.rateAt.Add(a.each - period)
			return a, nil
		}
	}
	if settings.Concurrency > 0 {
		var held int64
		if err := tx.Raw("SELECT COUNT(*) FROM job_slot WHERE queue_id = ? AND held_until > ?", int64(q),
			sqldb.At(now)).Row().Scan(&held); err != nil {
			return a, fmt.Errorf("count the claims of a queue: %w", err)
		}
		a.jobs = int(max(0, min(int64(a.jobs), settings.Concurrency-held)))
	}
	return a, nil
}

// spend notes the jobs of a claim against the queue's limits.
func (s slots) spend(tx *gorm.DB, q QueueID, settings Settings, a allowance, jobs []Job) error {
	if len(jobs) == 0 {
		return nil
	}
	if settings.Rate != nil {
		at := a.rateAt.Add(time.Duration(len(jobs)) * a.each).UnixMicro()
		if err := tx.Exec("UPDATE job_queue SET rate_at = ? WHERE id = ?", at, int64(q)).Error; err != nil {
			return err
		}
	}
	if settings.Concurrency == 0 {
		return nil
	}
	rows := make([][]any, len(jobs))
	for i, j := range jobs {
		rows[i] = []any{int64(q), j.ID[:], sqldb.At(j.ReadyAt)}
	}
	if err := s.leave(tx, keysOf(jobs)); err != nil { // A lapsed claim's.
		return err
	}
	return s.insertInto(tx, slotTable, "queue_id, id, held_until", 3, rows)
}

const slotTable = "job_slot"

// leave frees the slots of jobs, of those queues whose concurrency is limited.
func (s slots) leave(tx *gorm.DB, keys []Key) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return s.names.of(k.Queue).Concurrency == 0 })
	if len(keys) == 0 {
		return nil
	}
	return s.deleteFrom(tx, keys, slotTable)
}

// hold moves the end of a job's slot.
func (s slots) hold(tx *gorm.DB, k Key, until time.Time) error {
	if s.names.of(k.Queue).Concurrency == 0 {
		return nil
	}
	_, err := s.db.ExecMany(tx, "UPDATE job_slot SET held_until = ? WHERE queue_id = ? AND id = ?",
		[]any{sqldb.At(until), int64(k.Queue), k.ID[:]}, false)
	return err
}
