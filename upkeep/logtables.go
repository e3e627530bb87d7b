package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/media"
)

// tables is the kind system.tables: it creates the tables and partitions of the coming days and deletes rows past their
// retention.
type tables struct{ Deps }

// tablesParams are the params of system.tables.
type tablesParams struct {
	// KeepDays is for how many past UTC days the log table is kept; 0 means KeepDaysDefault.
	KeepDays int `json:"keep_days"`
}

// KeepDaysDefault is for how many past UTC days the log table is kept.
const KeepDaysDefault = 7

func (tables) Name() string { return Name + ".tables" }

func (tables) Check(params *tablesParams) error {
	if params.KeepDays < 0 {
		return fmt.Errorf("params.keep_days: %d is refused: want 0 or more", params.KeepDays)
	}
	params.KeepDays = cmp.Or(params.KeepDays, KeepDaysDefault)
	return nil
}

func (tables) Parts(plan media.Plan, _ tablesParams) ([]string, error) {
	return []string{partTables, partPrune}, refuseDays(plan)
}

func (t tables) Run(ctx context.Context, work media.Work, params tablesParams) (media.Result, error) {
	if work.Part == partPrune {
		return media.Result{}, prune(ctx, t.Deps)
	}
	return media.Result{}, keepTables(ctx, t.Deps, params)
}

// tableStore is what keepTables needs of the store.
type tableStore interface {
	EnsureLogTable(ctx context.Context, d day.Day) error
	EnsurePartitions(ctx context.Context, from, to day.Day) error
	LogDays(ctx context.Context) ([]day.Day, error)
	ExpireLogDay(ctx context.Context, d day.Day) (int, error)
	DropLogTable(ctx context.Context, d day.Day) error
	DeleteOldHoles(ctx context.Context, before time.Time) (int, error)
	DeleteOldDifferences(ctx context.Context, before time.Time) (int, error)
	PurgeTombstones(ctx context.Context, kept time.Duration) (int, error)
	PurgeOutsidePulls(ctx context.Context, kept time.Duration) (int, error)
}

// keepTables creates the coming days' tables and drops those past their retention. It first expires the work that is
// still open in a table to be dropped; coverage shows what was not pulled.
func keepTables(ctx context.Context, deps Deps, params tablesParams) error {
	today := day.Of(deps.Clock.Now(), time.UTC)
	for _, d := range day.Between(today, today.Add(sqldb.DaysAhead)) {
		if err := deps.Store.EnsureLogTable(ctx, d); err != nil {
			return err
		}
	}
	if err := deps.Store.EnsurePartitions(ctx, today, today.Add(sqldb.DaysAhead)); err != nil {
		return err
	}
	days, err := deps.Store.LogDays(ctx)
	if err != nil {
		return err
	}
	for _, d := range days {
		if d >= today.Add(-params.KeepDays) {
			continue
		}
		expired, err := deps.Store.ExpireLogDay(ctx, d)
		if err != nil {
			return err
		}
		if err := deps.Store.DropLogTable(ctx, d); err != nil {
			return err
		}
		deps.Logger.Info("dropped a log table past its retention", "day", d, "expired", expired)
	}
	if _, err := deps.Store.DeleteOldHoles(ctx, deps.Clock.Now().Add(-holesKept)); err != nil {
		return err
	}
	if _, err := deps.Store.DeleteOldDifferences(ctx, deps.Clock.Now().Add(-differencesKept)); err != nil {
		return err
	}
	if _, err := deps.Store.PurgeOutsidePulls(ctx, results.OutsidePullsKept); err != nil {
		return err
	}
	_, err = deps.Store.PurgeTombstones(ctx, results.TombstonesKept)
	return err
}
