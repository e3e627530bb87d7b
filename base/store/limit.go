package store

import (
	"context"
	"fmt"
	"time"

	"adsync/base/ratelimit"
)

// LimitRow is a row of rate_limit.
type LimitRow struct {
	ratelimit.Rule
	Enabled bool
}

// RateLimits reads all rows of rate_limit, unchecked: ratelimit.Rules refuses the bad ones by name.
func (s *Store) RateLimits(ctx context.Context) ([]LimitRow, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT id, media, endpoint, each_endpoint, scope, period_ms, calls, share, cost, calendar_zone, penalty_ms, enabled FROM rate_limit ORDER BY id").Rows()
	if err != nil {
		return nil, fmt.Errorf("read rate_limit: %w", err)
	}
	defer rows.Close()
	var all []LimitRow
	for rows.Next() {
		var r LimitRow
		var milliseconds, penalty int64
		if err := rows.Scan(&r.ID, &r.Media, &r.Endpoint, &r.Each, &r.Scope, &milliseconds, &r.Limit, &r.Share, &r.Cost, &r.Calendar, &penalty, &r.Enabled); err != nil {
			return nil, fmt.Errorf("read rate_limit: %w", err)
		}
		r.Period, r.Penalty = time.Duration(milliseconds)*time.Millisecond, time.Duration(penalty)*time.Millisecond
		all = append(all, r)
	}
	return all, rows.Err()
}

// AddRateLimit writes a limit, or replaces the one of the same media, endpoint, scope and period.
func (s *Store) AddRateLimit(ctx context.Context, r ratelimit.Rule) error {
	share := r.Share
	if share == 0 {
		share = ratelimit.ShareDefault
	}
	each := 0
	if r.Each {
		each = 1
	}
	err := s.Config.Upsert(s.Config.Writer(ctx), Table{
		Name: "rate_limit", Key: []string{"media", "endpoint", "scope", "period_ms"},
		Columns: []string{"each_endpoint", "calls", "share", "cost", "calendar_zone", "penalty_ms"},
	}, [][]any{{r.Media, r.Endpoint, string(r.Scope), r.Period.Milliseconds(), each, r.Limit, share, max(1, r.Cost), r.Calendar, r.Penalty.Milliseconds()}})
	if err != nil {
		return fmt.Errorf("add a rate limit of %s: %w", r.Media, err)
	}
	return nil
}
