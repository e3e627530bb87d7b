package settings

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
)

// LimitRow is a row of rate_limit.
type LimitRow struct {
	grant.Rule
	Enabled bool
}

// RateLimits reads all rows of rate_limit, unchecked: grant.Rules refuses the bad ones by name.
func (s Limits) RateLimits(ctx context.Context) ([]LimitRow, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT id, media, endpoint, each_endpoint, scope, period_ms, calls, share, cost, costs, unit, calls_max, calendar_zone, penalty_ms, enabled FROM rate_limit ORDER BY id").Rows()
	if err != nil {
		return nil, fmt.Errorf("read rate_limit: %w", err)
	}
	defer rows.Close()
	var all []LimitRow
	for rows.Next() {
		var r LimitRow
		var milliseconds, penalty int64
		if err := rows.Scan(&r.ID, &r.Media, &r.Endpoint, &r.Each, &r.Scope, &milliseconds, &r.Limit, &r.Share, &r.Cost, &r.Costs, &r.Unit, &r.LimitMax, &r.Calendar, &penalty, &r.Enabled); err != nil {
			return nil, fmt.Errorf("read rate_limit: %w", err)
		}
		r.Period, r.Penalty = time.Duration(milliseconds)*time.Millisecond, time.Duration(penalty)*time.Millisecond
		all = append(all, r)
	}
	return all, rows.Err()
}

// AddRateLimit writes a limit, or replaces the one of the same media, endpoint, scope, period and unit.
func (s Limits) AddRateLimit(ctx context.Context, r grant.Rule) error {
	share := r.Share
	if share == 0 {
		share = grant.ShareDefault
	}
	each := 0
	if r.Each {
		each = 1
	}
	table := sqldb.Table{
		Name: "rate_limit", Key: []string{"media", "endpoint", "scope", "period_ms", "unit"},
		Columns: []string{"each_endpoint", "calls", "share", "cost", "costs", "calls_max", "calendar_zone", "penalty_ms"},
	}
	row := []any{
		r.Media, r.Endpoint, string(r.Scope), r.Period.Milliseconds(), string(cmp.Or(r.Unit, grant.UnitCalls)), each, r.Limit, share, max(1, r.Cost), r.Costs, r.LimitMax, r.Calendar, r.Penalty.Milliseconds(),
	}
	err := Edit(ctx, s.Databases, Editor{Actor: "adsync", Action: "limit.put"}, "rate_limit", nil, func(tx *gorm.DB) error { return s.Config.Upsert(tx, table, [][]any{row}) })
	if err != nil {
		return fmt.Errorf("add a rate limit of %s: %w", r.Media, err)
	}
	return nil
}

// LearnedLimits reads what was learned of limits that are not known.
func (s Limits) LearnedLimits(ctx context.Context) ([]grant.Learned, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT media, endpoint, scope, subject, period_ms, calls, learned_at, refused, refused_at FROM rate_limit_learned").Rows()
	if err != nil {
		return nil, fmt.Errorf("read rate_limit_learned: %w", err)
	}
	defer rows.Close()
	var all []grant.Learned
	for rows.Next() {
		var l grant.Learned
		var milliseconds int64
		var at, refusedAt sqldb.Time
		if err := rows.Scan(&l.Media, &l.Endpoint, &l.Scope, &l.Subject, &milliseconds, &l.Limit, &at, &l.Refused, &refusedAt); err != nil {
			return nil, fmt.Errorf("read rate_limit_learned: %w", err)
		}
		l.Period, l.At, l.RefusedAt = time.Duration(milliseconds)*time.Millisecond, at.Time, refusedAt.Time
		all = append(all, l)
	}
	return all, rows.Err()
}

// LearnLimit remembers what was learned of a limit, if nobody has remembered anything of it since before. It tells whether nobody had.
func (s Limits) LearnLimit(ctx context.Context, before, after grant.Learned) (bool, error) {
	args := []any{
		after.Limit, sqldb.At(after.At), after.Refused, sqldb.At(after.RefusedAt),
		after.Media, after.Endpoint, string(after.Scope), after.Subject, after.Period.Milliseconds(),
	}
	statement := s.Config.Dialect().InsertIgnore() + "rate_limit_learned (calls, learned_at, refused, refused_at, media, endpoint, scope, subject, period_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	if !before.At.IsZero() {
		statement = "UPDATE rate_limit_learned SET calls = ?, learned_at = ?, refused = ?, refused_at = ? WHERE media = ? AND endpoint = ? AND scope = ? AND subject = ? AND period_ms = ? AND learned_at = ?"
		args = append(args, sqldb.At(before.At))
	}
	done := s.Config.Writer(ctx).Exec(statement, args...)
	if done.Error != nil {
		return false, fmt.Errorf("remember a limit of %s: %w", after.Media, done.Error)
	}
	return done.RowsAffected == 1, nil
}
