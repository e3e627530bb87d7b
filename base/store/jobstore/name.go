package jobstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"adsync/base/sqldb"
)

// Names are the names of queues, and what is set for them.
type Names struct {
	rows

	settings *atomic.Pointer[map[QueueID]Settings] // as they were last loaded
}

// Name notes the names of queues that are used, so that they are listed.
func (s Names) Name(ctx context.Context, queues []Queue, now time.Time) error {
	rows := make([][]any, len(queues))
	for i, q := range queues {
		rows[i] = []any{int64(q.ID()), q.Namespace, q.Name, sqldb.At(now)}
	}
	err := s.db.Upsert(s.db.Writer(ctx), sqldb.Table{Name: "job_queue", Key: []string{"id"},
		Columns: []string{"namespace", "name", "used_at"}}, rows)
	if err != nil {
		return fmt.Errorf("note the names of queues: %w", err)
	}
	return nil
}

// QueueState is what is known of a queue.
type QueueState struct {
	Name    string
	Ready   int64     // jobs that may be claimed
	Oldest  time.Time // when the first of them became ready; zero without any
	Waiting int64     // jobs that are delayed or claimed
	Dead    int64
	Paused  bool // none of its jobs is claimed
}

// Queues returns the queues of a namespace after a name, by name. It counts their jobs, which takes as long as there
// are jobs.
func (s Names) Queues(ctx context.Context, namespace, after string, limit int, now time.Time) ([]QueueState, error) {
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT name, paused FROM job_queue WHERE namespace = ? AND name > ? "+
		"ORDER BY name LIMIT ?", namespace, after, limit), func(rows *sql.Rows, q *QueueState) error {
		return rows.Scan(&q.Name, &q.Paused)
	})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	for i := range all {
		if err := s.count(ctx, Queue{namespace, all[i].Name}, &all[i], now); err != nil {
			return nil, fmt.Errorf("count the jobs of %s: %w", all[i].Name, err)
		}
	}
	return all, nil
}

// count counts the jobs of a queue.
func (s Names) count(ctx context.Context, queue Queue, state *QueueState, now time.Time) error {
	id := int64(queue.ID())
	for _, table := range s.tables.all(hashOf(queue.ID())) {
		var ready, waiting int64
		var oldest sqldb.Time
		err := s.db.Latest(ctx).Raw("SELECT COUNT(CASE WHEN band < ? AND ready_at <= ? THEN 1 END), "+
			"COUNT(CASE WHEN band >= ? OR ready_at > ? THEN 1 END), "+
			"MIN(CASE WHEN band < ? AND ready_at <= ? THEN ready_at END) FROM "+table+
			s.db.Dialect().ForceIndex(table, "ready")+" WHERE queue_id = ?", lastTry, sqldb.At(now), lastTry,
			sqldb.At(now), lastTry, sqldb.At(now), id).Row().Scan(&ready, &waiting, &oldest)
		if err != nil && !isMissing(err) {
			return err
		}
		state.Ready, state.Waiting = state.Ready+ready, state.Waiting+waiting
		if state.Oldest.IsZero() || !oldest.IsZero() && oldest.Before(state.Oldest) {
			state.Oldest = oldest.Time
		}
	}
	return s.db.Latest(ctx).Raw("SELECT COUNT(*) FROM job_dead WHERE queue_id = ?", id).Row().Scan(&state.Dead)
}

// ListNames returns the names of all queues, by namespace and name.
func (s Names) ListNames(ctx context.Context) ([]Queue, error) {
	var all []Queue
	if err := s.db.Latest(ctx).Raw("SELECT namespace, name FROM job_queue ORDER BY namespace, name").Scan(
		&all).Error; err != nil {
		return nil, fmt.Errorf("list the names of queues: %w", err)
	}
	return all, nil
}

// Pause stops the claims of a queue, or lets them continue.
func (s Names) Pause(ctx context.Context, q Queue, paused bool, now time.Time) error {
	if err := s.Name(ctx, []Queue{q}, now); err != nil {
		return err
	}
	err := s.db.Writer(ctx).Exec("UPDATE job_queue SET paused = ? WHERE id = ?", paused, int64(q.ID())).Error
	if err != nil {
		return fmt.Errorf("pause a queue: %w", err)
	}
	return nil
}

// forgetAfter is how long a queue without jobs is listed after its last use.
const forgetAfter = time.Hour

// ForgetEmpty removes the names of queues that have no jobs and were not used for a time.
func (s Names) ForgetEmpty(ctx context.Context, now time.Time) error {
	var unused []Queue
	err := s.db.Latest(ctx).Raw("SELECT namespace, name FROM job_queue WHERE used_at < ? AND paused = 0 AND settings = ''",
		sqldb.At(now.Add(-forgetAfter))).Scan(&unused).Error
	if err != nil {
		return fmt.Errorf("list unused queues: %w", err)
	}
	for _, q := range unused {
		used, err := s.hasJobs(ctx, q.ID())
		if err == nil && !used {
			err = s.db.Writer(ctx).Exec("DELETE FROM job_queue WHERE id = ? AND used_at < ? AND paused = 0 "+
				"AND settings = ''", int64(q.ID()), sqldb.At(now.Add(-forgetAfter))).Error
		}
		if err != nil {
			return fmt.Errorf("forget the queue %s: %w", q.Name, err)
		}
	}
	return nil
}

func (s Names) hasJobs(ctx context.Context, q QueueID) (bool, error) {
	for _, table := range slices.Concat(s.tables.all(hashOf(q)), []string{"job_dead"}) {
		has, err := sqldb.Exists(s.db.Latest(ctx), "SELECT 1 FROM "+table+" WHERE queue_id = ? LIMIT 1", int64(q))
		if has || err != nil && !isMissing(err) {
			return has, err
		}
	}
	return false, nil
}
