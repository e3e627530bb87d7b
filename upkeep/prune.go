package upkeep

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	storeprune "adsync/base/store/prune"
	"adsync/media"
	"adsync/media/account"
)

const (
	partTables = "tables"
	// partPrune is a part of its own because it takes long and the tables of coming days must not wait for it.
	partPrune = "prune"
	// pruneTime is the longest time of one pass, and pruneMargin what it leaves of the task's timeout. The next pass
	// continues.
	pruneTime   = 10 * time.Minute
	pruneMargin = 30 * time.Second
)

// pruneStore is what prune needs of the store.
type pruneStore interface {
	ReachStore
	Pruner(budget time.Duration) *storeprune.Pruner
	CatchUpWindowMax(ctx context.Context) (time.Duration, error)
}

// pruner deletes rows past their retention until its time is over.
type pruner interface {
	Over() bool
	Days(ctx context.Context, table string, key []string, before day.Day) (int64, error)
	Public(ctx context.Context, hourly bool, before day.Day) (gone int64, done bool, err error)
	Summaries(ctx context.Context, before day.Day) (int64, error)
	Dead(ctx context.Context, before time.Time) (int64, error)
	Healed(ctx context.Context, before time.Time) (int64, error)
	Runs(ctx context.Context, before time.Time) (int64, error)
	StopOrders(ctx context.Context, before time.Time) (int64, error)
	Changes(ctx context.Context, before time.Time) (int64, error)
	Audit(ctx context.Context, before time.Time) (int64, error)
	Files(ctx context.Context, before, now time.Time) (int64, error)
}

// prune deletes rows past their retention.
func prune(ctx context.Context, deps Deps) error {
	budget := pruneTime
	if left, ok := clock.Left(ctx); ok {
		budget = min(budget, left-pruneMargin)
	}
	reach, err := furthestReach(ctx, deps)
	if err != nil {
		return err
	}
	window, err := deps.Store.CatchUpWindowMax(ctx)
	if err != nil {
		return err
	}
	p := pruning{Deps: deps, pruner: deps.Store.Pruner(budget), now: deps.Clock.Now(), reach: reach, window: window}
	for _, s := range slices.Concat(p.raw(), p.public(), p.logs()) {
		if s.days == 0 || p.pruner.Over() {
			continue
		}
		gone, err := s.do(ctx)
		if gone > 0 {
			deps.Logger.Info("pruned rows past their retention", "what", s.what, "days", s.days, "gone", gone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pruning is one pass.
type pruning struct {
	Deps
	pruner pruner
	now    time.Time
	reach  int           // how many days back tasks pull
	window time.Duration // how far back missed moments are caught up
}

// pruneStep prunes one kind of rows, which are kept for a number of days.
type pruneStep struct {
	what string
	days int
	do   func(ctx context.Context) (gone int64, err error)
}

// dayBefore returns the day before which rows are deleted. Days that a task still pulls stay, because each pull would
// write them again.
func (p *pruning) dayBefore(days int) day.Day {
	return day.Of(p.now, time.UTC).Add(-max(days, p.reach))
}

func (p *pruning) timeBefore(days int) time.Time { return p.now.AddDate(0, 0, -days) }

// raw returns the steps of the platforms' raw tables, each table once.
func (p *pruning) raw() (steps []pruneStep) {
	seen := map[string]bool{}
	add := func(t rawtable.Table, days int) {
		if t.Name != "" && !seen[t.Name] {
			seen[t.Name] = true
			steps = append(steps, pruneStep{t.Name, days, func(ctx context.Context) (int64, error) {
				return p.pruner.Days(ctx, t.Name, t.Key(), p.dayBefore(days))
			}})
		}
	}
	for _, platform := range p.Platforms {
		for _, report := range platform.Reports() {
			if report.Hourly {
				add(report.Table, p.Retention.RawHourlyDays)
			} else {
				add(report.Table, p.Retention.RawDailyDays)
			}
		}
		add(platform.Funds().Daily.Table, p.Retention.RawDailyDays)
	}
	return steps
}

// public returns the steps of the public tables.
func (p *pruning) public() []pruneStep {
	report := func(table string, hourly bool, days int) pruneStep {
		return pruneStep{table, days, func(ctx context.Context) (int64, error) {
			gone, done, err := p.pruner.Public(ctx, hourly, p.dayBefore(days))
			if err == nil && !done {
				p.Logger.Info("the next pass prunes the rest", "hourly", hourly)
			}
			return gone, err
		}}
	}
	return []pruneStep{
		report("report_daily", false, p.Retention.ReportDailyDays),
		report("report_hourly", true, p.Retention.ReportHourlyDays),
		{"summaries", p.Retention.SummaryDays, func(ctx context.Context) (int64, error) {
			return p.pruner.Summaries(ctx, p.dayBefore(p.Retention.SummaryDays))
		}},
	}
}

// logs returns the steps of adsync's own history.
func (p *pruning) logs() []pruneStep {
	step := func(what string, days int, do func(ctx context.Context, before time.Time) (int64, error)) pruneStep {
		return pruneStep{what, days, func(ctx context.Context) (int64, error) { return do(ctx, p.timeBefore(days)) }}
	}
	return []pruneStep{
		step("dead subtasks", p.Retention.DeadDays, p.pruner.Dead),
		step("healed subtasks", p.Retention.HealedDays, p.pruner.Healed),
		step("runs", p.Retention.RunDays, func(ctx context.Context, before time.Time) (int64, error) {
			// Within the window, a moment without a tick counts as missed.
			if open := p.now.Add(-p.window).AddDate(0, 0, -1); open.Before(before) {
				before = open
			}
			return p.pruner.Runs(ctx, before)
		}),
		step("stop orders", p.Retention.RunDays, p.pruner.StopOrders),
		step("config_change", p.Retention.ConfigChangeDays, p.pruner.Changes),
		step("audit_log", p.Retention.AuditDays, p.pruner.Audit),
		step("report files", p.Retention.FileDays, func(ctx context.Context, before time.Time) (int64, error) {
			return p.pruner.Files(ctx, before, p.now)
		}),
	}
}

// furthestReach returns how many days back the tasks pull anything, today included, plus one for the zones.
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

// initialiseReach returns furthestReach of the tasks that pull the past of new accounts: the days before the present
// one.
func initialiseReach(ctx context.Context, deps Deps) (int, error) {
	rows, err := deps.Store.TaskRows(ctx)
	if err != nil {
		return 0, err
	}
	reach := 0
	for _, row := range rows {
		if row.Enabled != "1" || !slices.ContainsFunc(deps.Platforms,
			func(p media.Platform) bool { return row.Handler == account.InitialiseName(p.Name()) }) {
			continue
		}
		if days, err := account.InitialiseDays(json.RawMessage(row.Params)); err == nil { // Otherwise the task does not run.
			reach = max(reach, days+2)
		}
	}
	return reach, nil
}
