package upkeep

import (
	"context"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/summaries"
	"adsync/media"
)

// WideName is the handler that keeps the wide table.
const WideName = Name + ".wide"

const (
	// wideBatch is how many marked days are read at a time.
	wideBatch = 2000
	// wideReach is how many days back a change of the configuration reaches. Older rows keep their names and parents.
	wideReach = 31
)

// wide is the kind system.wide.
type wide struct {
	Deps
	noParams
}

func (wide) Name() string { return WideName }

func (w wide) Parts(plan media.Plan, _ struct{}) ([]string, error) {
	return names(w.Platforms), refuseDays(plan)
}

func (w wide) Run(ctx context.Context, work media.Work, _ struct{}) (media.Result, error) {
	platform, err := platformOf(w.Deps, work.Part)
	if err != nil {
		return media.Result{}, err
	}
	rows, err := rebuildWide(ctx, w.Deps, platform)
	return media.Result{Rows: rows}, err
}

// wideStore is what rebuildWide needs of the store.
type wideStore interface {
	WideDays(ctx context.Context, media string, upTo int64, limit int) ([]summaries.WideDay, error)
	RebuildWide(ctx context.Context, tables []summaries.ObjectTable, accountID int64, days []summaries.WideDay) (int,
		error)
	WideConfigurations(ctx context.Context, media string, upTo int64, limit int) ([]summaries.WideDay, error)
	MarkWideDays(ctx context.Context, configuration summaries.WideDay, since day.Day) error
}

// rebuildWide rebuilds a platform's rows of the wide table for every mark that existed when it began, as
// rebuildSummaries does for the summaries. If it is interrupted, the rebuilt rows remain.
func rebuildWide(ctx context.Context, deps Deps, platform media.Platform) (rows int, err error) {
	if err := spreadConfigurations(ctx, deps, platform); err != nil {
		return 0, err
	}
	upTo, err := markedBy(ctx, deps.Marks)
	if err != nil {
		return 0, err
	}
	tables := objectTables(platform)
	for {
		days, err := deps.Store.WideDays(ctx, platform.Name(), upTo, wideBatch)
		if err != nil || len(days) == 0 {
			return rows, err
		}
		accounts := map[int64][]summaries.WideDay{}
		for _, d := range days {
			accounts[d.AccountID] = append(accounts[d.AccountID], d)
		}
		for _, d := range days {
			n, err := deps.Store.RebuildWide(ctx, tables, d.AccountID, accounts[d.AccountID])
			if err != nil {
				return rows, err
			}
			rows += n
			delete(accounts, d.AccountID)
		}
	}
}

// spreadConfigurations marks the last days of the accounts whose configuration changed.
func spreadConfigurations(ctx context.Context, deps Deps, platform media.Platform) error {
	upTo, err := markedBy(ctx, deps.Marks)
	if err != nil {
		return err
	}
	since := day.Of(deps.Clock.Now(), time.UTC).Add(-wideReach)
	for {
		changed, err := deps.Store.WideConfigurations(ctx, platform.Name(), upTo, wideBatch)
		if err != nil || len(changed) == 0 {
			return err
		}
		for _, c := range changed {
			if err := deps.Store.MarkWideDays(ctx, c, since); err != nil {
				return err
			}
		}
	}
}

// markedBy returns an upper bound of all present marks: marks of one millisecond of the database count up within it.
func markedBy(ctx context.Context, marks Now) (int64, error) {
	now, err := marks.Now(ctx)
	return now.UnixMicro() + 999, err
}

// objectTables returns the tables of a platform's objects that have rows in wide_daily.
func objectTables(platform media.Platform) []summaries.ObjectTable {
	var tables []summaries.ObjectTable
	for _, l := range platform.Lists() {
		if slices.Contains(summaries.ObjectLevels, l.Level) {
			tables = append(tables, summaries.ObjectTable{Level: l.Level, Table: l.Table.Name, Parent: l.Parent,
				IDHasParent: l.IDHasParent})
		}
	}
	return tables
}
