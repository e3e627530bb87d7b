package jobstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Watched jobs are those of subtasks that other programs work (jobs/external). Their end is noted in the transaction
// that ends the job, and stays until Forget. Nothing else of them differs, except that they never become dead letters.

// End is how a watched job ended.
type End string

// The ends.
const (
	NotEnded  End = "open"
	Succeeded End = "succeeded" // it was acknowledged
	Failed    End = "failed"    // its worker reported an error, or its time to run ended
	Expired   End = "expired"   // its time to live ended
	Withdrawn End = "withdrawn" // its queue's jobs were deleted, or its subtask ended without it
)

// Subtask is the subtask that a watched job works.
type Subtask struct {
	RunID     int64
	AccountID int64
	Part      string
	Attempt   int // failures before the job
	TaskID    int64
	Media     string
}

// Watched is a watched job.
type Watched struct {
	Key
	Subtask

	Held    bool // no worker claims it
	End     End
	Rows    int64  // that its worker reports as written
	Error   string // of one that failed, or why it was withdrawn
	EndedAt time.Time
}

// WatchedID returns the id of the watched job with a name, which is one of a moment. Equal names of equal moments have
// equal ids.
func WatchedID(at time.Time, name string) ID {
	sum := sha256.Sum256([]byte(name))
	var id ulid.ULID
	_ = id.SetTime(uint64(max(0, at.UnixMilli()))) // It fails after the year 10889.
	copy(id[6:], sum[:])
	id[6] |= keptMark | watchedMark
	return ID(id)
}

const (
	watchedTable   = "job_watched"
	watchedColumns = "queue_id, id, run_id, account_id, part, attempt, task_id, media, held, state, rows_written, " +
		"error, ended_at"
)

func scanWatched(rows *sql.Rows, w *Watched) error {
	var id []byte
	var ended sqldb.Time
	if err := rows.Scan(&w.Queue, &id, &w.RunID, &w.AccountID, &w.Part, &w.Attempt, &w.TaskID, &w.Media, &w.Held, &w.End,
		&w.Rows, &w.Error, &ended); err != nil {
		return err
	}
	w.EndedAt = ended.Time
	return w.ID.scan(id)
}

// WatchedJobs are the jobs of subtasks.
type WatchedJobs struct{ rows }

// OpenLook is how long after its publication the leader looks at a watched job for the first time, and then from one
// look to the next: for those of subtasks that have ended without their job.
const OpenLook = 30 * time.Second

// PublishWatched publishes a job with an id of WatchedID, unless it was published before, and returns what is known of
// it. It may be repeated, run concurrently, and run after the job's end.
func (s WatchedJobs) PublishWatched(ctx context.Context, j Job, of Subtask, now time.Time) (w Watched, err error) {
	err = s.db.IdempotentTx(ctx, func(tx *gorm.DB) error {
		res := tx.Exec(s.db.Dialect().InsertIgnore()+watchedTable+" (queue_id, id, run_id, account_id, part, attempt, "+
			"task_id, media, error, look_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?)", int64(j.Queue), j.ID[:], of.RunID,
			of.AccountID, of.Part, of.Attempt, of.TaskID, of.Media, sqldb.At(now.Add(OpenLook)))
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected > 0 {
			w = Watched{Key: j.Key(), Subtask: of, End: NotEnded}
			return s.insert(tx, keptTable, [][]any{j.row()})
		}
		found, err := s.watchedOf(tx, []Key{j.Key()})
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("job %s was forgotten while it was published", j.ID)
		}
		if err == nil {
			w = found[0]
		}
		return err
	})
	if err != nil {
		return Watched{}, fmt.Errorf("publish the job of a subtask: %w", err)
	}
	return w, nil
}

// watchedOf reads and locks the rows of those of some jobs that are watched.
func (s rows) watchedOf(tx *gorm.DB, keys []Key) (all []Watched, err error) {
	err = s.eachQueue(keys, func(q QueueID, ids []any) error {
		// Not IN (?): gorm takes the bytes of the first for a list.
		found, err := sqldb.Rows(tx.Raw("SELECT "+watchedColumns+" FROM "+watchedTable+" WHERE queue_id = ? AND (id = ?"+
			strings.Repeat(" OR id = ?", len(ids)-1)+")"+s.db.Dialect().ForUpdate(), append([]any{int64(q)}, ids...)...),
			scanWatched)
		all = append(all, found...)
		return err
	})
	return all, err
}

// eachQueue calls do with the ids of the watched ones of some jobs, a queue at a time, in the order of their keys.
func (s rows) eachQueue(keys []Key, do func(q QueueID, ids []any) error) error {
	byQueue := map[QueueID][]any{}
	for _, k := range keys {
		if k.ID.Watched() {
			byQueue[k.Queue] = append(byQueue[k.Queue], k.ID[:])
		}
	}
	for _, q := range sortedKeys(byQueue) {
		slices.SortFunc(byQueue[q], compareIDs)
		for ids := range slices.Chunk(byQueue[q], insertedAtOnce) {
			if err := do(q, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// ending is an end of watched jobs.
type ending struct {
	end   End
	error string
	rows  int64
	at    time.Time
}

// endWatched notes the end of those of some jobs that are watched and have not ended. It may be repeated.
func (s rows) endWatched(tx *gorm.DB, keys []Key, e ending) error {
	return s.eachQueue(keys, func(q QueueID, ids []any) error {
		_, err := s.db.ExecMany(tx, updateSQL(s.db.Dialect(), watchedTable,
			"state = ?, error = ?, rows_written = ?, ended_at = ?, look_at = ?", len(ids))+" AND state = 'open'",
			append([]any{string(e.end), e.error, e.rows, sqldb.At(e.at), sqldb.At(e.at), int64(q)}, ids...), false)
		return err
	})
}

// endWatchedOne ends a job if it is watched, and deletes it. watched is false for any other job.
func (s rows) endWatchedOne(tx *gorm.DB, j Job, e ending) (watched bool, err error) {
	found, err := s.watchedOf(tx, []Key{j.Key()})
	if err != nil || len(found) == 0 {
		return false, err
	}
	if err := s.endWatched(tx, []Key{j.Key()}, e); err != nil {
		return false, err
	}
	return true, s.deleteFrom(tx, []Key{j.Key()}, j.table)
}

// endLapsed notes the end of watched jobs whose last claim has lapsed, and returns the others that have not expired.
func (s rows) endLapsed(tx *gorm.DB, jobs []Job, now time.Time) ([]Job, error) {
	watched, err := s.watchedOf(tx, keysOf(jobs))
	if err != nil {
		return nil, err
	}
	is := map[Key]bool{}
	for _, w := range watched {
		is[w.Key] = true
	}
	var late, expired []Key
	rest := slices.DeleteFunc(jobs, func(j Job) bool {
		switch {
		case is[j.Key()] && j.Expired(now):
			expired = append(expired, j.Key())
		case is[j.Key()]:
			late = append(late, j.Key())
		}
		return is[j.Key()] || j.Expired(now)
	})
	if err := s.endWatched(tx, expired, ending{end: Expired, at: now}); err != nil {
		return nil, err
	}
	return rest, s.endWatched(tx, late, ending{end: Failed, error: lapsed, at: now})
}

// heldUntil is when a held job is ready: never.
var heldUntil = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Hold keeps watched jobs from being claimed from now on, or makes them ready again. Claims under way stay; one that is
// released is held then. It may be repeated.
func (s WatchedJobs) Hold(ctx context.Context, keys []Key, held bool, now time.Time) error {
	ready, condition := heldUntil, " AND band < ? AND ready_at <> ?"
	if !held {
		ready, condition = now, " AND band < ? AND ready_at = ?"
	}
	err := s.db.IdempotentTx(ctx, func(tx *gorm.DB) error {
		return s.eachQueue(keys, func(q QueueID, ids []any) error {
			// job_watched first: a release at the same time reads it with the job's row locked.
			_, err := s.db.ExecMany(tx, updateSQL(s.db.Dialect(), watchedTable, "held = ?", len(ids))+" AND state = 'open'",
				append([]any{held, int64(q)}, ids...), false)
			if err != nil {
				return err
			}
			_, err = s.db.ExecMany(tx, updateSQL(s.db.Dialect(), keptTable, "ready_at = ?", len(ids))+condition,
				append(append([]any{sqldb.At(ready), int64(q)}, ids...), lastTry, sqldb.At(heldUntil)), false)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("hold the jobs of subtasks: %w", err)
	}
	return nil
}

// Withdraw deletes watched jobs whose subtasks have ended without them. It may be repeated.
func (s WatchedJobs) Withdraw(ctx context.Context, keys []Key, reason string, now time.Time) error {
	err := s.db.IdempotentTx(ctx, func(tx *gorm.DB) error {
		if err := s.deleteFrom(tx, keys, keptTable, slotTable); err != nil {
			return err
		}
		return s.endWatched(tx, keys, ending{end: Withdrawn, error: reason, at: now})
	})
	if err != nil {
		return fmt.Errorf("withdraw the jobs of subtasks: %w", err)
	}
	return nil
}

// Forget deletes what is known of ended watched jobs. It may be repeated.
func (s WatchedJobs) Forget(ctx context.Context, keys []Key) error {
	err := s.eachQueue(keys, func(q QueueID, ids []any) error {
		_, err := s.db.ExecMany(s.db.Writer(ctx), deleteSQL(s.db.Dialect(), watchedTable, len(ids))+" AND state <> 'open'",
			append([]any{int64(q)}, ids...), false)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the jobs of subtasks: %w", err)
	}
	return nil
}

// WatchedDue returns watched jobs that the leader is to look at now, the longest due first. Before the tables exist
// there are none.
func (s WatchedJobs) WatchedDue(ctx context.Context, limit int, now time.Time) ([]Watched, error) {
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+watchedColumns+" FROM "+watchedTable+
		s.db.Dialect().ForceIndex(watchedTable, "look")+" WHERE look_at <= ? ORDER BY look_at LIMIT ?", sqldb.At(now), limit),
		scanWatched)
	if err != nil && !isMissing(err) {
		return nil, fmt.Errorf("read the jobs of subtasks: %w", err)
	}
	return all, nil
}

// WatchedOpen returns watched jobs that have not ended, by key, after a key. Before the tables exist there are none.
func (s WatchedJobs) WatchedOpen(ctx context.Context, after Key, limit int) ([]Watched, error) {
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+watchedColumns+" FROM "+watchedTable+
		" WHERE queue_id >= ? AND (queue_id > ? OR id > ?) AND state = 'open' ORDER BY queue_id, id LIMIT ?",
		int64(after.Queue), int64(after.Queue), after.ID[:], limit), scanWatched)
	if err != nil && !isMissing(err) {
		return nil, fmt.Errorf("read the open jobs of subtasks: %w", err)
	}
	return all, nil
}

// LookAgain sets when the leader looks at watched jobs next, unless one has ended since it was read.
func (s WatchedJobs) LookAgain(ctx context.Context, all []Watched, at time.Time) error {
	byEnd := map[bool][]Key{}
	for _, w := range all {
		byEnd[w.End == NotEnded] = append(byEnd[w.End == NotEnded], w.Key)
	}
	for open, keys := range byEnd {
		condition := " AND state <> 'open'"
		if open {
			condition = " AND state = 'open'"
		}
		err := s.eachQueue(keys, func(q QueueID, ids []any) error {
			_, err := s.db.ExecMany(s.db.Writer(ctx), updateSQL(s.db.Dialect(), watchedTable, "look_at = ?", len(ids))+condition,
				append([]any{sqldb.At(at), int64(q)}, ids...), false)
			return err
		})
		if err != nil {
			return fmt.Errorf("put off the look at jobs of subtasks: %w", err)
		}
	}
	return nil
}
