package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/media"
	"adsync/media/account"
)

// Retention says for how many days rows are kept that tables would else have more and more of; 0 is for ever. A day that some task still pulls is kept in any case.
type Retention struct {
	RawHourlyDays    int `koanf:"raw_hourly_days" doc:"Days for which the raw tables of hourly reports keep rows; the public ones keep the figures. 0 = for ever."`
	RawDailyDays     int `koanf:"raw_daily_days" doc:"Days for which the raw tables of daily reports and cash flows keep rows. 0 = for ever: what platforms no longer tell of a day would be gone with them."`
	ReportHourlyDays int `koanf:"report_hourly_days" doc:"Days for which report_hourly keeps rows, and coverage what it knows of them. Summaries stay. 0 = for ever."`
	ReportDailyDays  int `koanf:"report_daily_days" doc:"Days for which report_daily and wide_daily keep rows, and coverage what it knows of them. Summaries stay. 0 = for ever."`
	SummaryDays      int `koanf:"summary_days" doc:"Days for which the summaries keep rows. 0 = for ever."`
	RunDays          int `koanf:"run_days" doc:"Days for which runs that have ended, their ticks and their orders are kept, and orders that stopped work. Those of dead subtasks stay as long as these. 0 = for ever."`
	DeadDays         int `koanf:"dead_days" doc:"Days for which dead subtasks are kept that nobody takes up again. 0 = for ever."`
	HealedDays       int `koanf:"healed_days" doc:"Days for which dead subtasks are kept whose days have been pulled whole since. 0 = as long as the others."`
	ConfigChangeDays int `koanf:"config_change_days" doc:"Days for which changes of configuration are kept. 0 = for ever."`
	AuditDays        int `koanf:"audit_days" doc:"Days for which it is kept who did what over the API. 0 = for ever."`
}

// DefaultRetention keeps all figures and configuration.
func DefaultRetention() Retention {
	return Retention{RawHourlyDays: 90, RunDays: 90, DeadDays: 365, HealedDays: 7}
}

// Validate reports every setting that cannot be used.
func (r Retention) Validate() error {
	var errs []error
	for _, f := range []struct {
		key         string
		days, least int
	}{
		{"raw_hourly_days", r.RawHourlyDays, 8}, {"raw_daily_days", r.RawDailyDays, 40},
		{"report_hourly_days", r.ReportHourlyDays, 40}, {"report_daily_days", r.ReportDailyDays, 70}, // Accounts are judged by up to 60 days.
		{"summary_days", r.SummaryDays, 40}, {"run_days", r.RunDays, 14}, {"dead_days", r.DeadDays, 14}, {"healed_days", r.HealedDays, 1},
		{"config_change_days", r.ConfigChangeDays, 14}, {"audit_days", r.AuditDays, 14},
	} {
		if f.days != 0 && f.days < f.least {
			errs = append(errs, &config.FieldError{Key: f.key, Value: fmt.Sprint(f.days), Want: fmt.Sprintf("%d or more, or 0 for ever", f.least)})
		}
	}
	return errors.Join(errs...)
}

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
