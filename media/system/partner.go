package system

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"adsync/base/store"
	"adsync/base/telemetry"
	"adsync/media"
)

// partnerBatch is how many of the partner's rows are read, and written in one transaction, at a time.
const partnerBatch = 1000

func partnerHandler(deps Deps) media.Handler {
	causes := telemetry.NewCauseLog(deps.Logger)
	return media.Handler{
		Name:   Name + ".partner",
		Target: media.Once,
		Check:  func(raw json.RawMessage) error { return media.CheckParams(raw, &struct{}{}) },
		Parts:  func(plan media.Plan) ([]string, error) { return []string{"partner"}, refuseDays(plan) },
		Run: func(ctx context.Context, _ media.Work) (media.Result, error) {
			if deps.Partner == nil {
				deps.Logger.Info("no partner's figures are copied: partner.dsn names no database")
				return media.Result{}, nil
			}
			l := loader{Deps: deps, causes: causes}
			err := l.run(ctx)
			if errors.Is(err, store.ErrPartnerOvertaken) {
				err = media.ErrSuperseded
			}
			return media.Result{Rows: l.rows}, err
		},
	}
}

// loader copies what changed in the partner's table since the last load. What one load misses, for it was stamped before and
// committed after, the next one reads: each begins an overlap before the last. A load that is cut off goes on where it was.
type loader struct {
	Deps
	causes  *telemetry.CauseLog
	load    store.PartnerLoad
	rows    int
	refused int
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
	// A cursor that lies in the future would have all changes until then go unseen.
	for at := l.load.Cursor.Kept(settled); ; {
		rows, next, err := l.Partner.Changed(ctx, at, partnerBatch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		if err := l.put(ctx, rows, next.Kept(settled)); err != nil {
			return err
		}
		at = next
	}
	if l.refused > 0 {
		l.Logger.Warn("some of the partner's rows cannot be kept", "rows", l.refused)
	}
	return l.adopt(ctx)
}

func (l *loader) put(ctx context.Context, rows []store.PartnerRow, keep store.PartnerCursor) error {
	ids := map[string][]string{}
	for i := range rows {
		r := &rows[i]
		if why := r.Unusable(); why != "" && !r.Deleted {
			if l.refused == 0 {
				l.Logger.Warn("a row of the partner's cannot be kept", "id", r.ID, "why", why)
			}
			l.refused++
			r.Deleted = true // What it was before holds no longer.
		}
		ids[r.Media] = append(ids[r.Media], r.Account)
	}
	accounts := map[string]map[string]store.Account{}
	for name, external := range ids {
		found, err := l.Store.FindAccounts(ctx, name, external)
		if err != nil {
			return err
		}
		accounts[name] = found
	}
	result, err := l.Store.PutPartnerRows(ctx, l.load, rows, accounts, keep)
	l.rows += result.Written + result.Deleted
	return err
}

// adopt looks for the accounts that were not known when their rows came, and tells how many rows wait for one.
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
			n, err := l.Store.AdoptPartnerRows(ctx, l.load, account)
			if err != nil {
				return err
			}
			l.rows += n
			rows[name] -= n
		}
		if rows[name] > 0 {
			l.causes.Report(slog.LevelWarn, name, "some of the partner's rows are of accounts that are not known, and are kept until they are",
				errors.New("nothing is bound under their ids"), "media", name, "rows", rows[name])
		} else {
			l.causes.Clear(name)
		}
	}
	return nil
}
