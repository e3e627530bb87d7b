package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/summaries"
	"adsync/base/telemetry"
	"adsync/media"
)

// CopyName is the handler that copies tables of other databases.
const CopyName = Name + ".copy"

// noCopy is the part of a run without copies. It is no copy's name, and does nothing: a run without parts would end as
// skipped.
const noCopy = "-"

// tableCopy is the kind system.copy. Each enabled row of table_copy is a part, by its name.
type tableCopy struct {
	Deps
	noParams
	causes   *telemetry.CauseLog
	unusable media.Unusable
}

var _ media.Lister = tableCopy{}

func newTableCopy(deps Deps) tableCopy {
	if deps.Registerer == nil {
		deps.Registerer = prometheus.NewRegistry()
	}
	return tableCopy{Deps: deps, causes: telemetry.NewCauseLog(deps.Logger), unusable: media.NewUnusable(deps.Registerer)}
}

// copyStore is what the copies need of the store.
type copyStore interface {
	TableCopies(ctx context.Context) ([]copies.TableCopy, error)
	TableCopy(ctx context.Context, name string) (copies.TableCopy, error)
	CopyTable(ctx context.Context, c copies.TableCopy, sources copies.Sources, today day.Day) (rows int, err error)
}

func (tableCopy) Name() string { return CopyName }

// List implements media.Lister.
func (k tableCopy) List(ctx context.Context) (names []string, err error) {
	all, err := k.Store.TableCopies(ctx)
	for _, c := range all {
		if c.Enabled {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		names = []string{noCopy}
	}
	return names, err
}

func (tableCopy) Parts(plan media.Plan, _ struct{}) ([]string, error) {
	return plan.Parts, refuseDays(plan)
}

// Run runs one copy. One that was deleted or disabled since does nothing.
func (k tableCopy) Run(ctx context.Context, work media.Work, _ struct{}) (media.Result, error) {
	c, err := k.Store.TableCopy(ctx, work.Part)
	if errors.Is(err, sqldb.ErrNotFound) || err == nil && !c.Enabled {
		return media.Result{}, nil
	}
	if err != nil {
		return media.Result{}, err
	}
	var rows int
	if c.IsPartner() {
		rows, err = k.copyPartner(ctx, &c)
	} else {
		rows, err = k.Store.CopyTable(ctx, c, k.Sources, day.Of(k.Clock.Now(), time.UTC))
	}
	if errors.Is(err, copies.ErrOvertaken) {
		err = media.ErrSuperseded
	}
	return media.Result{Rows: rows}, err
}

// copyPartner runs the copy of the business's own figures.
func (k tableCopy) copyPartner(ctx context.Context, c *copies.TableCopy) (rows int, err error) {
	return k.Store.RunCopy(ctx, c, func(state *copies.State) (int, error) {
		from, err := summaries.OpenPartner(c, k.Sources)
		if err != nil {
			return 0, copies.OneLine(err)
		}
		l := partnerCopy{Deps: k.Deps, causes: k.causes, unusable: k.unusable, from: from, state: state}
		err = l.run(ctx)
		return l.rows, err
	})
}
