package jobstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"adsync/base/sqldb"
)

// QueueSize is how many jobs a queue has.
type QueueSize struct {
	Queue

	Ready  int64     // jobs that may be claimed
	Dead   int64     // dead letters
	Oldest time.Time // since when the first of the ready ones is ready; zero without any
}

const (
	// countedShelves is how many shelves Sizes counts, those with the oldest jobs.
	countedShelves = 200
	// countedMost is up to where it counts a shelf.
	countedMost = 100_000
)

// Sizes returns the sizes of the largest queues with ready jobs or dead letters, the largest first, up to limit. ready
// are the shelves that have ready jobs. Of many shelves only those whose jobs have been ready for longest are counted,
// each up to 100,000.
func (s Names) Sizes(ctx context.Context, ready []Ready, limit int, now time.Time) ([]QueueSize, error) {
	all := map[QueueID]*QueueSize{}
	of := func(id QueueID) *QueueSize {
		if all[id] == nil {
			all[id] = &QueueSize{}
		}
		return all[id]
	}
	ready = slices.DeleteFunc(slices.Clone(ready), func(r Ready) bool { return r.LastTries() })
	slices.SortFunc(ready, func(a, b Ready) int { return a.Since.Compare(b.Since) })
	for _, r := range ready[:min(len(ready), countedShelves)] {
		n, err := s.countReady(ctx, r.Shelf, now)
		if err != nil {
			return nil, err
		}
		size := of(r.Queue)
		if size.Ready += n; size.Oldest.IsZero() {
			size.Oldest = r.Since
		}
	}
	err := sqldb.EachRow(s.db.Latest(ctx).Raw("SELECT queue_id, COUNT(*) AS n FROM job_dead GROUP BY queue_id "+
		"ORDER BY n DESC LIMIT ?", limit), func(rows *sql.Rows) error {
		var id QueueID
		var n int64
		err := rows.Scan(&id, &n)
		of(id).Dead = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	if err := s.named(ctx, all); err != nil {
		return nil, err
	}
	var sizes []QueueSize
	for _, size := range all {
		if size.Name != "" && size.Ready+size.Dead > 0 {
			sizes = append(sizes, *size)
		}
	}
	slices.SortFunc(sizes, func(a, b QueueSize) int {
		return cmp.Or(cmp.Compare(b.Ready+b.Dead, a.Ready+a.Dead), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	return sizes[:min(len(sizes), limit)], nil
}

func (s Names) countReady(ctx context.Context, f Shelf, now time.Time) (n int64, err error) {
	err = s.db.Latest(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM "+f.Table+s.db.Dialect().ForceIndex(f.Table, "ready")+
		" WHERE queue_id = ? AND band = ? AND ready_at <= ? LIMIT ?) AS counted", int64(f.Queue), f.Band, sqldb.At(now),
		countedMost).Row().Scan(&n)
	if isMissing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count ready jobs: %w", err)
	}
	return n, nil
}

// named reads the names of queues.
func (s Names) named(ctx context.Context, all map[QueueID]*QueueSize) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(all)), insertedAtOnce) {
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = int64(id)
		}
		query := s.db.Latest(ctx).Raw("SELECT namespace, name FROM job_queue WHERE id IN "+sqldb.Tuples(1, len(ids)), args...)
		err := sqldb.EachRow(query, func(rows *sql.Rows) error {
			var q Queue
			err := rows.Scan(&q.Namespace, &q.Name)
			if size := all[q.ID()]; size != nil {
				size.Queue = q
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read the names of queues: %w", err)
		}
	}
	return nil
}

// Connections returns how many connections to the database this process has open.
func (s Names) Connections() int {
	pool, err := s.db.SQL()
	if err != nil {
		return 0
	}
	return pool.Stats().OpenConnections
}

// Due is how many jobs of a queue become ready in an hour.
type Due struct {
	Hour time.Time
	Jobs int64
}

// DueByHour returns how many delayed and claimed jobs of a queue become ready in each hour that has some, from now on,
// by hour, up to limit hours. It reads as many entries as the queue has jobs.
func (s Names) DueByHour(ctx context.Context, q QueueID, limit int, now time.Time) ([]Due, error) {
	byHour := map[time.Time]int64{}
	for _, table := range s.tables.all(hashOf(q)) {
		query := s.db.Latest(ctx).Raw("SELECT SUBSTR(CAST(ready_at AS CHAR), 1, 13) AS due, COUNT(*) FROM "+table+
			s.db.Dialect().ForceIndex(table, "ready")+" WHERE queue_id = ? AND ready_at > ? GROUP BY due", int64(q),
			sqldb.At(now))
		err := sqldb.EachRow(query, func(rows *sql.Rows) error {
			var text string
			var n int64
			if err := rows.Scan(&text, &n); err != nil {
				return err
			}
			hour, err := time.Parse("2006-01-02 15", text)
			byHour[hour] += n
			return err
		})
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("count jobs by hour: %w", err)
		}
	}
	all := make([]Due, 0, len(byHour))
	for _, hour := range slices.SortedFunc(maps.Keys(byHour), time.Time.Compare) {
		all = append(all, Due{hour, byHour[hour]})
	}
	return all[:min(len(all), limit)], nil
}
