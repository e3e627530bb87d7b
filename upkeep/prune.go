package upkeep

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/media"
	"adsync/media/account"
)

const (
	partTables = "tables"
	// partPrune is apart: it takes long, and tables of coming days must not wait for it.
	partPrune = "prune"
	// pruneTime is how long one pass prunes at the most, and pruneMargin what it leaves of the task's time. The next pass goes on.
	pruneTime   = 10 * time.Minute
	pruneMargin = 30 * time.Second
)

// prune takes away what is past its retention.
func prune(ctx context.Context, deps Deps) error {
	budget := pruneTime
	if left, ok := clock.Left(ctx); ok {
		budget = min(budget, left-pruneMargin)
	}
	p := deps.Store.Pruner(budget)
	now := deps.Clock.Now()
	today := day.Of(now, time.UTC)
	reach, err := furthestReach(ctx, deps)
	if err != nil {
		return err
	}
	// What a task still pulls stays: it would come back at each pull.
	dayBefore := func(days int) day.Day { return today.Add(-max(days, reach)) }
	timeBefore := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	window, err := deps.Store.CatchUpWindowMax(ctx)
	if err != nil {
		return err
	}
	r := deps.Retention
	type step struct {
		what string
		days int
		do   func() (int64, error)
	}
	var steps []step
	seen := map[string]bool{}
	raw := func(t store.RawTable, days int) {
		if t.Name != "" && !seen[t.Name] {
			seen[t.Name] = true
			steps = append(steps, step{t.Name, days, func() (int64, error) { return p.Days(ctx, t.Name, t.Key(), dayBefore(days)) }})
		}
	}
	for _, platform := range deps.Platforms {
		for _, report := range platform.Reports() {
			if report.Hourly {
				raw(report.Table, r.RawHourlyDays)
			} else {
				raw(report.Table, r.RawDailyDays)
			}
		}
		raw(platform.Funds().Daily.Table, r.RawDailyDays)
	}
	public := func(hourly bool, days int) func() (int64, error) {
		return func() (int64, error) {
			gone, done, err := p.Public(ctx, hourly, dayBefore(days))
			if err == nil && !done {
				deps.Logger.Info("left the rest of what is past its retention to the next pass", "hourly", hourly)
			}
			return gone, err
		}
	}
	steps = append(steps,
		step{"report_daily", r.ReportDailyDays, public(false, r.ReportDailyDays)},
		step{"report_hourly", r.ReportHourlyDays, public(true, r.ReportHourlyDays)},
		step{"summaries", r.SummaryDays, func() (int64, error) { return p.Summaries(ctx, dayBefore(r.SummaryDays)) }},
		step{"dead subtasks", r.DeadDays, func() (int64, error) { return p.Dead(ctx, timeBefore(r.DeadDays)) }},
		step{"healed subtasks", r.HealedDays, func() (int64, error) { return p.Healed(ctx, timeBefore(r.HealedDays)) }},
		step{"runs", r.RunDays, func() (int64, error) {
			// Within its window a missed moment is one without a tick.
			before := timeBefore(r.RunDays)
			if open := now.Add(-window).AddDate(0, 0, -1); open.Before(before) {
				before = open
			}
			return p.Runs(ctx, before)
		}},
		step{"stop orders", r.RunDays, func() (int64, error) { return p.StopOrders(ctx, timeBefore(r.RunDays)) }},
		step{"config_change", r.ConfigChangeDays, func() (int64, error) { return p.Changes(ctx, timeBefore(r.ConfigChangeDays)) }},
		step{"audit_log", r.AuditDays, func() (int64, error) { return p.Audit(ctx, timeBefore(r.AuditDays)) }},
	)
	for _, s := range steps {
		if s.days == 0 || p.Over() {
			continue
		}
		gone, err := s.do()
		if gone > 0 {
			deps.Logger.Info("pruned what is past its retention", "what", s.what, "days", s.days, "gone", gone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// furthestReach is how many days back the tasks pull anything, today included, and one more for the zones.
func furthestReach(ctx context.Context, deps Deps) (int, error) {
	reach := 0
	for _, platform := range deps.Platforms {
		scopes, err := fillScopes(ctx, deps.Store, platform)
		if err != nil {
			return 0, err
		}
		for _, scope := range scopes {
			for _, t := range scope.tasks {
				reach = max(reach, t.days+t.skip+1)
			}
		}
	}
	past, err := initialiseReach(ctx, deps)
	return max(reach, past), err
}

// initialiseReach is furthestReach of the tasks that pull the past of new accounts: so many days before the present one.
func initialiseReach(ctx context.Context, deps Deps) (int, error) {
	rows, err := deps.Store.TaskRows(ctx)
	if err != nil {
		return 0, err
	}
	reach := 0
	for _, row := range rows {
		if row.Enabled != "1" || !slices.ContainsFunc(deps.Platforms, func(p media.Platform) bool { return row.Handler == account.InitialiseName(p.Name()) }) {
			continue
		}
		if days, err := account.InitialiseDays(json.RawMessage(row.Params)); err == nil { // Else the task does not run.
			reach = max(reach, days+2)
		}
	}
	return reach, nil
}
