// Package upkeep holds adsync's own work, which runs as tasks like any other under the media name "system": log
// tables, partitions, summaries, the filling of holes, the comparison of levels, the partner's figures and the wide table.
package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/media"
)

// Name is the media name of adsync's own tasks.
const Name = "system"

// Store is what the handlers need of *store.Store. Each part stands in the file of its handler.
type Store interface {
	tableStore
	pruneStore
	summaryStore
	wideStore
	partnerStore
	FillStore
	reconcileStore
}

// Now is the clock of the database that holds the results: marks are stamped by it.
type Now interface {
	Now(ctx context.Context) (time.Time, error)
}

// Deps are what the handlers work with.
type Deps struct {
	Store  Store
	Marks  Now
	Clock  clock.Clock
	Logger *slog.Logger
	// Partner has the business's own figures; nil when there are none to copy.
	Partner *store.PartnerSource
	// Platforms are those whose summaries are kept and whose holes are filled.
	Platforms []media.Platform
	// Retention says what is pruned.
	Retention Retention
	// Registerer has the metrics; nil keeps them to the handlers.
	Registerer prometheus.Registerer
}

// Handlers returns the system's handlers.
func Handlers(deps Deps) []media.Handler {
	return []media.Handler{tablesHandler(deps), summaryHandler(deps), fillHandler(deps), reconcileHandler(deps), partnerHandler(deps), wideHandler(deps)}
}

// tablesParams are the params of system.tables.
type tablesParams struct {
	// KeepDays is how many past UTC days keep their log table; 0 means KeepDaysDefault.
	KeepDays int `json:"keep_days"`
}

// KeepDaysDefault is how many past UTC days keep their log table.
const KeepDaysDefault = 7

func parseTables(raw json.RawMessage) (tablesParams, error) {
	var params tablesParams
	if err := media.CheckParams(raw, &params); err != nil {
		return params, err
	}
	if params.KeepDays < 0 {
		return params, fmt.Errorf("params.keep_days: %d is refused: want 0 or more", params.KeepDays)
	}
	if params.KeepDays == 0 {
		params.KeepDays = KeepDaysDefault
	}
	return params, nil
}

func tablesHandler(deps Deps) media.Handler {
	return media.Handler{
		Name:   Name + ".tables",
		Target: media.Once,
		Check: func(raw json.RawMessage) error {
			_, err := parseTables(raw)
			return err
		},
		Parts: func(plan media.Plan) ([]string, error) { return []string{partTables, partPrune}, refuseDays(plan) },
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			params, err := parseTables(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			if work.Part == partPrune {
				return media.Result{}, prune(ctx, deps)
			}
			return media.Result{}, keepTables(ctx, deps, params)
		},
	}
}

// tableStore is what keepTables needs of the store.
type tableStore interface {
	EnsureLogTable(ctx context.Context, d day.Day) error
	EnsurePartitions(ctx context.Context, from, to day.Day) error
	LogDays(ctx context.Context) ([]day.Day, error)
	ExpireLogDay(ctx context.Context, d day.Day) (int, error)
	DropLogTable(ctx context.Context, d day.Day) error
	ForgetHoles(ctx context.Context, before time.Time) (int, error)
	ForgetDifferences(ctx context.Context, before time.Time) (int, error)
	PurgeTombstones(ctx context.Context, kept time.Duration) (int, error)
}

// keepTables makes the coming days' tables and drops those past their retention. Work that is still open in a table
// to be dropped is expired first; coverage shows what was not pulled.
func keepTables(ctx context.Context, deps Deps, params tablesParams) error {
	today := day.Of(deps.Clock.Now(), time.UTC)
	for _, d := range day.Between(today, today.Add(store.DaysAhead)) {
		if err := deps.Store.EnsureLogTable(ctx, d); err != nil {
			return err
		}
	}
	if err := deps.Store.EnsurePartitions(ctx, today, today.Add(store.DaysAhead)); err != nil {
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
	if _, err := deps.Store.ForgetHoles(ctx, deps.Clock.Now().Add(-holesKept)); err != nil {
		return err
	}
	if _, err := deps.Store.ForgetDifferences(ctx, deps.Clock.Now().Add(-differencesKept)); err != nil {
		return err
	}
	_, err = deps.Store.PurgeTombstones(ctx, store.TombstonesKept)
	return err
}

// dirtyBatch is how many dirty marks a summary subtask reads at a time: those of all accounts of a day together, so that it is added up once.
const dirtyBatch = 50_000

func summaryHandler(deps Deps) media.Handler {
	return media.Handler{
		Name:   Name + ".summary",
		Target: media.Once,
		Check:  func(raw json.RawMessage) error { return media.CheckParams(raw, &struct{}{}) },
		Parts:  func(plan media.Plan) ([]string, error) { return names(deps.Platforms), refuseDays(plan) },
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			return rebuildSummaries(ctx, deps, work.Part)
		},
	}
}

// summaryStore is what rebuildSummaries needs of the store.
type summaryStore interface {
	DirtyDays(ctx context.Context, media string, upTo int64, limit int) ([]store.DirtyDay, error)
	RebuildSummary(ctx context.Context, d store.DirtyDay) (int, error)
}

// rebuildSummaries brings the summaries of a media up to every mark that was there when it began; marks that come
// meanwhile are left to the next run, so that it ends.
func rebuildSummaries(ctx context.Context, deps Deps, platform string) (media.Result, error) {
	var result media.Result
	begin, err := deps.Marks.Now(ctx)
	if err != nil {
		return result, err
	}
	for {
		days, err := deps.Store.DirtyDays(ctx, platform, begin.UnixMicro(), dirtyBatch)
		if err != nil || len(days) == 0 {
			return result, err
		}
		for _, d := range days {
			n, err := deps.Store.RebuildSummary(ctx, d)
			if err != nil {
				return result, err
			}
			result.Rows += n
		}
	}
}

func refuseDays(plan media.Plan) error {
	if plan.From != "" {
		return errors.New("from: this task has no days: leave from and to out")
	}
	return nil
}

func names(platforms []media.Platform) []string {
	all := make([]string, len(platforms))
	for i, p := range platforms {
		all[i] = p.Name()
	}
	return all
}

func platformOf(deps Deps, name string) (media.Platform, error) {
	for _, p := range deps.Platforms {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, &media.Error{Class: media.Invalid, Message: "there is no media " + name}
}
