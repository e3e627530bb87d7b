package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/base/telemetry"
	"adsync/media"
)

// partnerBatch is how many of the partner's rows are read, and written in one transaction, at a time.
const partnerBatch = 1000

// partner is the kind system.partner: it copies the partner's figures.
type partner struct {
	Deps
	noParams
	causes   *telemetry.CauseLog
	unusable media.Unusable
}

func newPartner(deps Deps) partner {
	if deps.Registerer == nil {
		deps.Registerer = prometheus.NewRegistry()
	}
	return partner{Deps: deps, causes: telemetry.NewCauseLog(deps.Logger), unusable: media.NewUnusable(deps.Registerer)}
}

func (partner) Name() string { return Name + ".partner" }

func (partner) Parts(plan media.Plan, _ struct{}) ([]string, error) {
	return []string{"partner"}, refuseDays(plan)
}

func (p partner) Run(ctx context.Context, _ media.Work, _ struct{}) (media.Result, error) {
	if p.Partner == nil {
		p.Logger.Info("partner.dsn is empty: no partner's figures are copied")
		return media.Result{}, nil
	}
	l := loader{Deps: p.Deps, causes: p.causes, unusable: p.unusable}
	err := l.run(ctx)
	if errors.Is(err, summaries.ErrPartnerOvertaken) {
		err = media.ErrSuperseded
	}
	return media.Result{Rows: l.rows}, err
}

// partnerStore is what the copy of the partner's figures needs of the store.
type partnerStore interface {
	BeginPartnerLoad(ctx context.Context, source string) (summaries.PartnerLoad, error)
	PutPartnerRows(ctx context.Context, load summaries.PartnerLoad, batch summaries.PartnerBatch,
		accounts map[string]map[string]settings.Account,
		cursor summaries.PartnerCursor) (summaries.PartnerResult, error)
	PutUnreadablePartnerRows(ctx context.Context, load summaries.PartnerLoad, unreadable []summaries.PartnerFault) error
	UnknownPartnerAccounts(ctx context.Context) ([]summaries.PartnerAccount, error)
	AssignPartnerRows(ctx context.Context, load summaries.PartnerLoad, account settings.Account) (int, error)
	FindAccounts(ctx context.Context, media string, externalIDs []string) (map[string]settings.Account, error)
}

// loader copies the rows of the partner's table that changed since the last load. A load can miss a row that was
// stamped before it and committed after it. The next load reads that row, because each load begins an overlap before
// the end of the last one. An interrupted load continues where it was.
type loader struct {
	Deps
	causes   *telemetry.CauseLog
	unusable media.Unusable
	load     summaries.PartnerLoad
	rows     int
}

func (l *loader) run(ctx context.Context) error {
	var err error
	if l.load, err = l.Store.BeginPartnerLoad(ctx, l.Partner.Name()); err != nil {
		return err
	}
	settled, err := l.Partner.Settled(ctx)
	if err != nil {
		return err
	}
	// A cursor in the future would skip all changes until then.
	for at := l.load.Cursor.NotBeyond(settled); ; {
		batch, next, err := l.Partner.Changed(ctx, at, partnerBatch)
		if err != nil {
			return err
		}
		if len(batch.Rows) == 0 {
			break
		}
		if err := l.put(ctx, batch, next.NotBeyond(settled)); err != nil {
			return err
		}
		at = next
	}
	unreadable, err := l.Partner.UnreadableRows(ctx)
	if err != nil {
		return err
	}
	l.report(unreadable)
	if err := l.Store.PutUnreadablePartnerRows(ctx, l.load, unreadable); err != nil {
		return err
	}
	return l.adopt(ctx)
}

func (l *loader) put(ctx context.Context, batch summaries.PartnerBatch, keep summaries.PartnerCursor) error {
	l.report(batch.Faults)
	ids := map[string][]string{}
	for _, r := range batch.Rows {
		if !r.Deleted {
			ids[r.Media] = append(ids[r.Media], r.Account)
		}
	}
	accounts := map[string]map[string]settings.Account{}
	for name, external := range ids {
		found, err := l.Store.FindAccounts(ctx, name, external)
		if err != nil {
			return err
		}
		accounts[name] = found
	}
	result, err := l.Store.PutPartnerRows(ctx, l.load, batch, accounts, keep)
	l.rows += result.Written + result.Deleted
	return err
}

// report counts unusable values and logs them by field.
func (l *loader) report(faults []summaries.PartnerFault) {
	for _, f := range faults {
		platform := "other" // The partner's words for media may be any.
		if slices.ContainsFunc(l.Platforms, func(p media.Platform) bool { return p.Name() == f.Media }) {
			platform = f.Media
		}
		l.unusable.Add(platform, results.PartnerReport, f.Field, f.Kind, int(f.Rows))
		l.causes.Report(slog.LevelWarn, "unusable",
			"values of the partner are unusable; see partner_unusable",
			fmt.Errorf("%s is unusable, as %s", f.Field, f.Kind), "id", f.ID, "field", f.Field, "kind", string(f.Kind), "rows",
			f.Rows, "why", f.Why)
	}
}

// adopt assigns waiting rows to accounts that have become known, and reports how many rows still wait for one.
func (l *loader) adopt(ctx context.Context) error {
	unknown, err := l.Store.UnknownPartnerAccounts(ctx)
	if err != nil {
		return err
	}
	ids, rows := map[string][]string{}, map[string]int{}
	for _, u := range unknown {
		ids[u.Media] = append(ids[u.Media], u.Account)
		rows[u.Media] += u.Rows
	}
	for name, external := range ids {
		found, err := l.Store.FindAccounts(ctx, name, external)
		if err != nil {
			return err
		}
		for _, account := range found {
			n, err := l.Store.AssignPartnerRows(ctx, l.load, account)
			if err != nil {
				return err
			}
			l.rows += n
			rows[name] -= n
		}
		if rows[name] > 0 {
			l.causes.Report(slog.LevelWarn, name,
				"rows of the partner wait for accounts that are not known",
				errors.New("no account is bound under their ids"), "media", name, "rows", rows[name])
		} else {
			l.causes.Clear(name)
		}
	}
	return nil
}
