package settings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	return rateLimits(s.Config.Writer(ctx))
}

func rateLimits(db *gorm.DB) ([]LimitRow, error) {
	var rows []struct {
		LimitRow
		PeriodMs, PenaltyMs int64
	}
	err := db.Table("rate_limit").Order("id").Select(
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

// AddRateLimit writes a limit, or replaces the one of the same media, endpoint, scope, period and unit. A row that is
// switched off stays so.
func (s Limits) AddRateLimit(ctx context.Context, r grant.Rule) error {
	err := Edit(ctx, s.Databases, Editor{Actor: "adsync", Action: "limit.put"}, "rate_limit", nil,
		func(tx *gorm.DB) error { return s.putLimit(tx, r) })
	if err != nil {
		return fmt.Errorf("add a rate limit of %s: %w", r.Media, err)
	}
	return nil
}

// PutRateLimit is AddRateLimit for an operator, who also says whether the limit is enabled. check is given the rows
// as they are to be, and the id of the written one, and may refuse them.
func (s Limits) PutRateLimit(ctx context.Context, e Editor, row LimitRow,
	check func(rows []LimitRow, id int64) error) error {
	err := Edit(ctx, s.Databases, e, "rate_limit", nil, func(tx *gorm.DB) error {
		if err := s.putLimit(tx, row.Rule); err != nil {
			return err
		}
		rows, err := rateLimits(tx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rows, func(r LimitRow) bool { return r.Identity() == row.Identity() })
		if at < 0 {
			return fmt.Errorf("the limit of %s is not there after it was written", row.Endpoint)
		}
		rows[at].Enabled = row.Enabled
		if err := check(rows, rows[at].ID); err != nil {
			return err
		}
		return tx.Table("rate_limit").Where("id = ?", rows[at].ID).Update("enabled", row.Enabled).Error
	})
	if err != nil {
		return fmt.Errorf("write a rate limit of %s: %w", row.Media, err)
	}
	return nil
}

func (s Limits) putLimit(tx *gorm.DB, r grant.Rule) error {
	each := 0
	if r.Each {
		each = 1
	}
	table := sqldb.Table{
		Name: "rate_limit", Key: []string{"media", "endpoint", "scope", "period_ms", "unit"},
		Columns: []string{"each_endpoint", "calls", "share", "cost", "costs", "calls_max", "calendar_zone", "penalty_ms"},
	}
	return s.Config.Upsert(tx, table, [][]any{{
		r.Media, r.Endpoint, string(r.Scope), r.Period.Milliseconds(), string(cmp.Or(r.Unit, grant.UnitCalls)), each, r.Limit,
		cmp.Or(r.Share, grant.ShareDefault), max(1, r.Cost), r.Costs, r.LimitMax, r.Calendar, r.Penalty.Milliseconds(),
	}})
}

// DeleteRateLimit deletes a row of rate_limit and returns it, or ErrNotFound.
func (s Limits) DeleteRateLimit(ctx context.Context, e Editor, id int64) (LimitRow, error) {
	var gone LimitRow
	err := Edit(ctx, s.Databases, e, "rate_limit", nil, func(tx *gorm.DB) error {
		rows, err := rateLimits(tx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rows, func(r LimitRow) bool { return r.ID == id })
		if at < 0 {
			return sqldb.ErrNotFound
		}
		gone = rows[at]
		return tx.Exec("DELETE FROM rate_limit WHERE id = ?", id).Error
	})
	if err != nil {
		return LimitRow{}, fmt.Errorf("delete the rate limit %d: %w", id, err)
	}
	return gone, nil
}

// LimitIdentity is what the table has one row of.
type LimitIdentity struct {
	Media, Endpoint string
	Scope           grant.Scope
	Period          time.Duration
	Unit            grant.Unit
}

// Identity returns the row's.
func (r LimitRow) Identity() LimitIdentity {
	return LimitIdentity{r.Media, r.Endpoint, r.Scope, r.Period, cmp.Or(r.Unit, grant.UnitCalls)}
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
		return identity{r.Media, grant.PlainEndpoint(r.Endpoint), r.Scope, r.Period, false}
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
