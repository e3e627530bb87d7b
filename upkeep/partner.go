package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"adsync/base/store/copies"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/base/telemetry"
	"adsync/media"
)

// partnerBatch is how many of the partner's rows are read, and written in one transaction, at a time.
const partnerBatch = 1000

// partnerStore is what the copy of the partner's figures needs of the store.
type partnerStore interface {
	RunCopy(ctx context.Context, c *copies.TableCopy, work func(run *copies.State) (rows int, err error)) (int, error)
	PutPartnerRows(ctx context.Context, run *copies.State, batch summaries.PartnerBatch,
		accounts map[string]map[string]settings.Account,
		cursor summaries.PartnerCursor) (summaries.PartnerResult, error)
	PutUnreadablePartnerRows(ctx context.Context, run *copies.State, unreadable []summaries.PartnerFault) error
	UnknownPartnerAccounts(ctx context.Context) ([]summaries.PartnerAccount, error)
	AssignPartnerRows(ctx context.Context, run *copies.State, account settings.Account) (int, error)
	FindAccounts(ctx context.Context, media string, externalIDs []string) (map[string]settings.Account, error)
}

// partnerCopy is a run of the copy of the partner's figures: of the rows of the partner's table that changed since the
// last run. A run can miss a row that was stamped before it and committed after it. The next run reads that row,
// because each run begins an overlap before the end of the last one. An interrupted run continues where it was.
type partnerCopy struct {
	Deps
	causes   *telemetry.CauseLog
	unusable media.Unusable
	from     *summaries.PartnerSource
	state    *copies.State
	rows     int // that were written and deleted
}

func (l *partnerCopy) run(ctx context.Context) error {
	settled, err := l.from.Settled(ctx)
	if err != nil {
		return err
	}
	// A cursor in the future would skip all changes until then.
	for at := summaries.ParsePartnerCursor(l.state.CursorValue).NotBeyond(settled); ; {
		batch, next, err := l.from.Changed(ctx, at, partnerBatch)
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
	unreadable, err := l.from.UnreadableRows(ctx)
	if err != nil {
		return err
	}
	l.report(unreadable)
	if err := l.Store.PutUnreadablePartnerRows(ctx, l.state, unreadable); err != nil {
		return err
	}
	return l.adopt(ctx)
}

func (l *partnerCopy) put(ctx context.Context, batch summaries.PartnerBatch, keep summaries.PartnerCursor) error {
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
	result, err := l.Store.PutPartnerRows(ctx, l.state, batch, accounts, keep)
	l.rows += result.Written + result.Deleted
	return err
}

// report counts unusable values and logs them by field.
func (l *partnerCopy) report(faults []summaries.PartnerFault) {
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
func (l *partnerCopy) adopt(ctx context.Context) error {
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
			n, err := l.Store.AssignPartnerRows(ctx, l.state, account)
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
