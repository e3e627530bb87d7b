package store

import (
	"context"
	"fmt"
	"time"

	"adsync/base/ratelimit"
)

// reachedKept is how long a process that reaches Redis no more is remembered.
const reachedKept = time.Hour

var _ ratelimit.Witness = (*Store)(nil)

// memberLife is for how long a process counts as one of those that reach Redis: many times as long as they take between two notes of it.
const memberLife = 30 * time.Second

// Reached implements ratelimit.Witness.
func (s *Store) Reached(ctx context.Context, process string) (members int, err error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("note that Redis is reached: %w", err)
	}
	db := s.Data.Writer(ctx)
	table := Table{Name: "redis_reached", Key: []string{"process"}, Columns: []string{"seen_at"}}
	if err := s.Data.Upsert(db, table, [][]any{{process, At(now)}}); err != nil {
		return 0, fmt.Errorf("note that Redis is reached: %w", err)
	}
	if err := db.Raw("SELECT COUNT(*) FROM redis_reached WHERE seen_at > ?", At(now.Add(-memberLife))).Row().Scan(&members); err != nil {
		return 0, fmt.Errorf("count who reaches Redis: %w", err)
	}
	return members, nil
}

// OtherReached implements ratelimit.Witness.
func (s *Store) OtherReached(ctx context.Context, process string, within time.Duration) (now bool, last int, err error) {
	at, err := s.Data.Now(ctx)
	if err != nil {
		return false, 0, fmt.Errorf("look who reaches Redis: %w", err)
	}
	db := s.Data.Writer(ctx)
	if err := db.Exec("DELETE FROM redis_reached WHERE seen_at < ?", At(at.Add(-reachedKept))).Error; err != nil {
		return false, 0, fmt.Errorf("look who reaches Redis: %w", err)
	}
	rows, err := db.Raw("SELECT process, seen_at FROM redis_reached ORDER BY seen_at DESC").Rows()
	if err != nil {
		return false, 0, fmt.Errorf("look who reaches Redis: %w", err)
	}
	defer rows.Close()
	var newest time.Time
	for rows.Next() {
		var who string
		var seen Time
		if err := rows.Scan(&who, &seen); err != nil {
			return false, 0, fmt.Errorf("look who reaches Redis: %w", err)
		}
		if newest.IsZero() {
			newest = seen.Time
		}
		if who == process {
			continue
		}
		now = now || seen.After(at.Add(-within))
		if seen.After(newest.Add(-memberLife)) {
			last++
		}
	}
	if err := rows.Err(); err != nil {
		return false, 0, fmt.Errorf("look who reaches Redis: %w", err)
	}
	return now, last, nil
}
