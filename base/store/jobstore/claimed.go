package jobstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Outcome is what became of a request about one claim of a job.
type Outcome int

// The outcomes.
const (
	Done     Outcome = iota
	Stale            // the job was claimed again since
	NotFound         // there is no such job, or it is dead
	Died             // done: it was the last try, and the job is a dead letter
)

// ByBackoff is the delay of a nack after which the job's backoff is waited for.
const ByBackoff time.Duration = -1

// Touch moves the end of a claim to until.
func (s *Store) Touch(ctx context.Context, k Key, claim int64, until, now time.Time) (Outcome, error) {
	return s.onClaim(ctx, k, claim, now, func(tx *gorm.DB, j Job) error {
		if err := s.again(tx, j, s.againAfter(j, until)); err != nil {
			return err
		}
		return s.hold(tx, k, until)
	})
}

// again sets when a job is ready.
func (s *Store) again(tx *gorm.DB, j Job, at time.Time) error {
	_, err := s.db.ExecMany(tx, "UPDATE "+j.table+" SET ready_at = ? WHERE queue_id = ? AND id = ?",
		[]any{sqldb.At(at), int64(j.Queue), j.ID[:]}, false)
	return err
}

// Nack ends a claim without success: the job is ready again after a delay (ByBackoff for that of its backoff), or a
// dead letter if that was its last try.
func (s *Store) Nack(ctx context.Context, k Key, claim int64, delay time.Duration, reason string,
	now time.Time) (Outcome, error) {
	died, watched := false, false
	o, err := s.onClaim(ctx, k, claim, now, func(tx *gorm.DB, j Job) error {
		if err := s.leave(tx, []Key{k}); err != nil {
			return err
		}
		if died = j.Tries == 0; !died {
			if delay == ByBackoff {
				delay = s.backoffOf(j).After(j.failedClaims())
			}
			return s.again(tx, j, now.Add(delay))
		}
		if died, err := s.endWatchedOne(tx, j, ending{end: Failed, error: reason, at: now}); err != nil || died {
			watched = died
			return err
		}
		if err := s.insertDead(tx, []Job{j}, now, reason); err != nil {
			return err
		}
		return s.deleteFrom(tx, []Key{k}, j.table)
	})
	if o == Done && died && !watched {
		o = Died
	}
	return o, err
}

// onClaim calls change for a job whose present claim has the given number, in a transaction that holds its row.
func (s *Store) onClaim(ctx context.Context, k Key, claim int64, now time.Time,
	change func(tx *gorm.DB, j Job) error) (o Outcome, err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		o = NotFound
		for _, table := range s.tablesOf(k, now) {
			found, err := sqldb.Rows(tx.Raw("SELECT "+jobColumns+" FROM "+table+" WHERE queue_id = ? AND id = ?"+
				s.db.Dialect().ForUpdate(), int64(k.Queue), k.ID[:]), scanJob)
			if err != nil && !isMissing(err) {
				return err
			}
			if len(found) == 0 {
				continue
			}
			j := found[0]
			if j.table = table; j.Claims != claim || claim == 0 {
				o = Stale
				return nil
			}
			o = Done
			return change(tx, j)
		}
		return nil
	})
	if err != nil {
		return NotFound, fmt.Errorf("change a claim: %w", err)
	}
	return o, nil
}

// Again is how a released job is ready again.
type Again struct {
	Delay time.Duration
	State []byte // kept with the job until its next delivery; nil keeps what it has
}

// Released is what became of a request to release a claim, and the job as it is after that.
type Released struct {
	Job     Job
	Outcome Outcome
}

// Release ends a claim at no try: the job is ready again after a delay, or held if its subtask is. The number of the
// claim is stale from then on.
func (s *Store) Release(ctx context.Context, k Key, claim int64, how Again, now time.Time) (r Released, err error) {
	r.Outcome, err = s.onClaim(ctx, k, claim, now, func(tx *gorm.DB, j Job) error {
		if err := s.leave(tx, []Key{k}); err != nil {
			return err
		}
		j.Tries, j.Claims, j.Released, j.ReadyAt = j.Tries+1, j.Claims+1, j.Released+1, now.Add(how.Delay)
		if how.State != nil {
			j.State = how.State
		}
		watched, err := s.watchedOf(tx, []Key{k})
		if err != nil {
			return err
		}
		if len(watched) > 0 && watched[0].Held {
			j.ReadyAt = heldUntil
		}
		r.Job = j
		_, err = s.db.ExecMany(tx, "UPDATE "+j.table+" SET band = ?, tries = ?, claims = ?, released = ?, ready_at = ?, "+
			"state = ? WHERE queue_id = ? AND id = ?", []any{j.band(), j.Tries, j.Claims, j.Released, sqldb.At(j.ReadyAt),
			j.State, int64(j.Queue), j.ID[:]}, false)
		return err
	})
	return r, err
}

// failedClaims returns how many claims ended, or may end, without success. A release counts its own claim and took one
// number more.
func (j Job) failedClaims() int64 { return j.Claims - 2*j.Released }
