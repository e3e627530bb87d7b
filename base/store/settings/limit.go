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

// RateLimits returns all rows of rate_limit, unchecked: grant.Rules refuses the bad ones by name.
func (s Limits) RateLimits(ctx context.Context) ([]LimitRow, error) {
	var rows []struct {
		LimitRow
		PeriodMs, PenaltyMs int64
	}
	err := s.Config.Writer(ctx).Table("rate_limit").Order("id").Select(
		"id, media, endpoint, each_endpoint AS `each`, scope, period_ms," +
			" calls AS `limit`, share, cost, costs, unit, calls_max AS limit_max, calendar_zone AS calendar, penalty_ms," +
			" enabled").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read rate_limit: %w", err)
	}
	all := make([]LimitRow, len(rows))
	for i, r := range rows {
		r.Period, r.Penalty = time.Duration(r.PeriodMs)*time.Millisecond, time.Duration(r.PenaltyMs)*time.Millisecond
		all[i] = r.LimitRow
	}
	return all, nil
}

// AddRateLimit writes a limit, or replaces the one with the same media, endpoint, scope, period and unit.
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
		r.Media, r.Endpoint, string(r.Scope), r.Period.Milliseconds(), string(cmp.Or(r.Unit, grant.UnitCalls)), each, r.Limit,
		share, max(1, r.Cost), r.Costs, r.LimitMax, r.Calendar, r.Penalty.Milliseconds(),
	}
	err := Edit(ctx, s.Databases, Editor{Actor: "adsync", Action: "limit.put"}, "rate_limit", nil,
		func(tx *gorm.DB) error { return s.Config.Upsert(tx, table, [][]any{row}) })
	if err != nil {
		return fmt.Errorf("add a rate limit of %s: %w", r.Media, err)
	}
	return nil
}

// LearnedLimits returns what was learned about unknown limits.
func (s Limits) LearnedLimits(ctx context.Context) ([]grant.Learned, error) {
	var rows []struct {
		grant.Learned
		PeriodMs int64
	}
	err := s.Config.Writer(ctx).Table("rate_limit_learned").
		Select("media, endpoint, scope, subject, period_ms, calls AS `limit`, learned_at AS at, refused, refused_at").Find(
		&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read rate_limit_learned: %w", err)
	}
	all := make([]grant.Learned, len(rows))
	for i, l := range rows {
		l.Period = time.Duration(l.PeriodMs) * time.Millisecond
		all[i] = l.Learned
	}
	return all, nil
}

// LearnLimit stores what was learned about a limit, unless another process has stored something since before, and
// reports whether it did.
func (s Limits) LearnLimit(ctx context.Context, before, after grant.Learned) (bool, error) {
	args := []any{
		after.Limit, sqldb.At(after.At), after.Refused, sqldb.At(after.RefusedAt),
		after.Media, after.Endpoint, string(after.Scope), after.Subject, after.Period.Milliseconds(),
	}
	statement := s.Config.Dialect().InsertIgnore() +
		"rate_limit_learned (calls, learned_at, refused, refused_at, media, endpoint, scope, subject, period_ms)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	if !before.At.IsZero() {
		statement = "UPDATE rate_limit_learned SET calls = ?, learned_at = ?, refused = ?, refused_at = ?" +
			" WHERE media = ? AND endpoint = ? AND scope = ? AND subject = ? AND period_ms = ? AND learned_at = ?"
		args = append(args, sqldb.At(before.At))
	}
	done := s.Config.Writer(ctx).Exec(statement, args...)
	if done.Error != nil {
		return false, fmt.Errorf("store a learned limit of %s: %w", after.Media, done.Error)
	}
	return done.RowsAffected == 1, nil
}

// LimitsInForce returns the enabled rows and the defaults for which no usable row exists, enabled or not: a refused row
// must not leave an endpoint without a limit.
func LimitsInForce(rows []LimitRow, defaults []grant.Rule) []grant.Rule {
	type identity struct {
		media, endpoint string
		scope           grant.Scope
		period          time.Duration
		rows            bool
	}
	of := func(r grant.Rule) identity {
		if r.Unit == grant.UnitRows {
			return identity{r.Media, "", r.Scope, r.Period, true} // One row covers all endpoints.
		}
		return identity{r.Media, r.Endpoint, r.Scope, r.Period, false}
	}
	spoken := map[identity]bool{}
	var rules []grant.Rule
	for _, r := range rows {
		if r.Validate() == nil {
			spoken[of(r.Rule)] = true
		}
		if r.Enabled {
			rules = append(rules, r.Rule)
		}
	}
	for _, r := range defaults {
		if !spoken[of(r)] {
			rules = append(rules, r)
		}
	}
	return rules
}
