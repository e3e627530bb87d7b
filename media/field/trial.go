package field

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/settings"
	"adsync/media"
)

const (
	// trialTime bounds a trial, which runs at the end of a pull and keeps the pull's slot.
	trialTime = 30 * time.Second
	// trialClaim is how long other processes do not try the field. It is longer than a trial and the write of its
	// result.
	trialClaim = 2 * time.Minute
	// trialRest is the pause after a trial without a decision.
	trialRest = time.Minute
)

// Rows returns the rows to write when an operator puts a row. A field that a report requests already stays requested,
// and any other is tried first. have holds the platform's rows.
func Rows(platform media.Platform, have []settings.ReportField, put settings.ReportField) (row settings.ReportField,
	more []settings.ReportField) {
	if put.State != settings.FieldAsked {
		return put, nil
	}
	for _, report := range platform.Reports() {
		if !covers(put, report) {
			continue
		}
		extra, without := chosen(have, report)
		if isOwn := slices.Contains(report.Figures.Fields(), put.Field); isOwn && !slices.Contains(without, put.Field) ||
			slices.Contains(extra, put.Field) {
			put.Accepted = true
			continue
		}
		one := put
		one.Report, one.Level, one.Accepted = report.Name, report.Level, false
		more = append(more, one)
	}
	if !put.Accepted {
		more = nil
	}
	return put, more
}

// Try implements pull.Fields. If a field waits for its trial, and no other process tries it, Try requests it in one
// call for the account. A row that covers several reports is tried in each. If the first report refuses the field,
// the row is refused. Otherwise it is accepted, and refused only for those of the other reports that refuse it. A
// failure for another reason decides nothing: a later pull tries again, after trialRest.
func (k *Keeper) Try(ctx context.Context, api media.API) {
	row, rows, ok := k.claim(ctx)
	if !ok {
		return
	}
	trying, cancel := context.WithTimeout(ctx, trialTime)
	verdict := k.trial(trying, api, rows, row)
	cancel()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if err := k.settle(ctx, row, verdict); err != nil {
		k.causes.Report(slog.LevelWarn, "trial", "cannot record the result of a field's trial", err,
			"media", row.Media, "field", row.Field)
	}
	k.forget()
}

// claim returns a row whose field this process is to try, and all rows.
func (k *Keeper) claim(ctx context.Context) (row settings.ReportField, rows []settings.ReportField, ok bool) {
	rows, err := k.current(ctx)
	if err != nil {
		return row, nil, false // The next pull reports it.
	}
	at := slices.IndexFunc(rows, func(r settings.ReportField) bool { return r.TrialDue })
	if at < 0 {
		return row, nil, false
	}
	k.forget()
	ok, err = k.Store.ClaimFieldTrial(ctx, rows[at], trialClaim)
	if err != nil && ctx.Err() == nil {
		k.causes.Report(slog.LevelWarn, "claim", "cannot begin the trial of a field", err, "media",
			rows[at].Media, "field", rows[at].Field)
	}
	return rows[at], rows, ok && err == nil
}

// verdict is the result of a row's trial.
type verdict struct {
	accepted bool
	refused  []settings.ReportField // the row, or rows of single reports if others accepted the field
	note     string                 // why there is no decision
}

func (k *Keeper) settle(ctx context.Context, row settings.ReportField, v verdict) error {
	for _, refused := range v.refused {
		first, err := k.Store.RefuseReportField(ctx, refused)
		if err != nil {
			return err
		}
		if first {
			k.Logger.Warn("the platform refuses an added field",
				"media", row.Media, "report", refused.Report, "level", refused.Level, "field", row.Field, "reason", refused.Reason)
		}
	}
	switch {
	case v.accepted:
		k.Logger.Info("the platform accepts an added field", "media", row.Media, "report",
			row.Report, "level", row.Level, "field", row.Field)
		return k.Store.AcceptReportField(ctx, row)
	case len(v.refused) == 0:
		return k.Store.PostponeFieldTrial(ctx, row, trialRest, v.note)
	}
	return nil
}

// trial requests a field in each of the reports that its row applies to.
func (k *Keeper) trial(ctx context.Context, api media.API, rows []settings.ReportField,
	row settings.ReportField) (v verdict) {
	note := "no report requests it"
	for _, report := range k.Platform.Reports() {
		if !slices.ContainsFunc(holding(rows, report), func(r settings.ReportField) bool {
			return r.Field == row.Field && r.Report == row.Report && r.Level == row.Level
		}) {
			continue
		}
		where := fmt.Sprintf("%s at level %s, account %s", report.Name, report.Level, api.Account().ExternalID)
		switch result, err := k.tryIn(ctx, api, rows, report, row.Field); result {
		case passes:
			v.accepted = true
		case refuses:
			refused := row
			refused.Reason, refused.ChangedBy = where+": "+err.Error(), "adsync"
			if !v.accepted {
				return verdict{refused: []settings.ReportField{refused}}
			}
			refused.Report, refused.Level = report.Name, report.Level
			v.refused = append(v.refused, refused)
		case cannotBeAsked:
			note = where + ": " + err.Error()
		default:
			return verdict{note: where + ": " + err.Error()}
		}
	}
	if !v.accepted {
		return verdict{note: note}
	}
	return v
}

// result is the outcome of a trial in one report.
type result int

const (
	undecided     result = iota
	passes               // the report has the field, or ignores it
	refuses              // the report does not know the field
	cannotBeAsked        // the report is refused without the field too
)

// tryIn requests a field in today's report as a pull would. As a pull does, it leaves out other fields that are
// refused by name. After a refusal without a name it repeats the query without the field: only that shows whether the
// field is the reason.
func (k *Keeper) tryIn(ctx context.Context, api media.API, rows []settings.ReportField, report media.Report,
	name string) (result, error) {
	today := day.Of(k.Clock.Now(), api.Account().Zone)
	query := media.ReportQuery{From: today, To: today}
	query.Extra, query.Without = chosen(rows, report)
	var refusal *media.Error
	for {
		with := query
		with.Extra = append(slices.Clone(query.Extra), name)
		with.Without = slices.DeleteFunc(slices.Clone(query.Without), func(field string) bool { return field == name })
		_, err := report.Page(ctx, api, with, "")
		if err == nil {
			return passes, nil
		}
		if refusal, _ = errors.AsType[*media.Error](err); refusal == nil || !isWrong(err) {
			return undecided, err
		}
		if refusal.Field == name {
			return refuses, refusal
		}
		if refusal.Field == "" {
			break
		}
		if report.Needs(refusal.Field) || slices.Contains(query.Without, refusal.Field) {
			return undecided, err
		}
		query.Without = append(slices.Clip(query.Without), refusal.Field)
	}
	_, err := report.Page(ctx, api, query, "")
	switch {
	case err == nil:
		return refuses, refusal
	case isWrong(err):
		return cannotBeAsked, err
	}
	return undecided, err
}
