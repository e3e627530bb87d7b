// Package upkeep holds adsync's own work, which runs as tasks like any other under the media name "system": log
// tables, partitions, summaries, the filling of holes, the comparison of levels, the partner's figures, the wide
// table, and copies of tables of other databases.
package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/store/copies"
	"adsync/media"
)

// Name is the media name of adsync's own tasks.
const Name = "system"

// Store is what the handlers need of the store. Each part is declared in the file of its handler.
type Store interface {
	tableStore
	pruneStore
	summaryStore
	wideStore
	partnerStore
	copyStore
	FillStore
	reconcileStore
}

// Now is the clock of the results' database, which stamps the marks.
type Now interface {
	Now(ctx context.Context) (time.Time, error)
}

// Deps holds what the handlers depend on.
type Deps struct {
	Store  Store
	Marks  Now
	Clock  clock.Clock
	Logger *slog.Logger
	// Sources are the databases whose tables are copied.
	Sources copies.Sources
	// Platforms are the platforms whose summaries are kept and whose holes are filled.
	Platforms []media.Platform
	// Retention is how long rows are kept.
	Retention Retention
	// Registerer registers the metrics; nil = they are not exported.
	Registerer prometheus.Registerer
}

// Handlers returns the system's handlers.
func Handlers(deps Deps) []media.Handler {
	return []media.Handler{
		media.HandlerOf(tables{deps}), media.HandlerOf(summary{Deps: deps}), media.HandlerOf(fill{deps}),
		media.HandlerOf(reconcile{deps}), media.HandlerOf(wide{Deps: deps}), media.HandlerOf(newTableCopy(deps)),
	}
}

// noParams is embedded in kinds whose tasks have no params.
type noParams struct{}

func (noParams) Check(*struct{}) error { return nil }

func refuseDays(plan media.Plan) error {
	if plan.From != "" {
		return errors.New("from: this task has no days: remove from and to")
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
