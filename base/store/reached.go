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

// Reached implements ratelimit.Witness.
func (s *Store) Reached(ctx context.Context, process string) error {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return fmt.Errorf("note that Redis is reached: %w", err)
	}
	db := s.Data.Writer(ctx)
	table := Table{Name: "redis_reached", Key: []string{"process"}, Columns: []string{"seen_at"}}
	if err := s.Data.Upsert(db, table, [][]any{{process, At(now)}}); err != nil {
		return fmt.Errorf("note that Redis is reached: %w", err)
	}
	return nil
}

// OtherReached implements ratelimit.Witness.
func (s *Store) OtherReached(ctx context.Context, process string, within time.Duration) (bool, error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("look who reaches Redis: %w", err)
	}
	db := s.Data.Writer(ctx)
	if err := db.Exec("DELETE FROM redis_reached WHERE seen_at < ?", At(now.Add(-reachedKept))).Error; err != nil {
		return false, fmt.Errorf("look who reaches Redis: %w", err)
	}
	var n int64
	err = db.Raw("SELECT COUNT(*) FROM redis_reached WHERE process <> ? AND seen_at > ?", process, At(now.Add(-within))).Row().Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look who reaches Redis: %w", err)
	}
	return n > 0, nil
}
