// Package field decides which fields a platform's reports request: those of the platform's package, changed by the
// rows of report_field. An added field is tried with one call before pulls request it. A field that the platform
// refuses is retired in report_field, and pulls continue without it.
package field

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/media"
)

const (
	// rowsMaxAge is how long the rows are used before they are read again: an edit takes effect within this time.
	rowsMaxAge = 30 * time.Second
	// readPause is the pause after a failed read.
	readPause = 5 * time.Second
)

// Options holds what a Keeper uses.
type Options struct {
	Platform media.Platform
	Store    *store.Store
	// Clock is the clock of business days.
	Clock  clock.Clock
	Logger *slog.Logger
}

// Keeper holds the fields of one platform's reports. It is safe for concurrent use.
type Keeper struct {
	Options
	causes *telemetry.CauseLog

	mu   sync.Mutex
	rows []settings.ReportField
	next time.Time // when the rows are read again; zero before the first read
	have bool
}

// New returns a keeper that has not read the rows yet.
func New(o Options) *Keeper {
	return &Keeper{Options: o, causes: telemetry.NewCauseLog(o.Logger)}
}

// Ask implements pull.Fields. A refusal that names a field may have another reason. So a field is retired only if the
// same query without it is answered, or fails for a reason other than a wrong query. A failure at a later page does
// not undo that. Fields that the report needs are never left out.
func (k *Keeper) Ask(ctx context.Context, report media.Report, query media.ReportQuery,
	do func(media.Report, media.ReportQuery) error) error {
	rows, err := k.current(ctx)
	if err != nil {
		return err
	}
	query.Extra, query.Without = chosen(rows, report)
	noting, answered := report, false // whether any page of the current query was answered
	noting.Page = func(ctx context.Context, api media.API, query media.ReportQuery, token string) (media.Page, error) {
		page, err := report.Page(ctx, api, query, token)
		answered = answered || err == nil
		return page, err
	}
	var refusals []*media.Error
	for {
		answered = false
		err = do(noting, query)
		e, ok := errors.AsType[*media.Error](err)
		if !ok || e.Field == "" || report.Needs(e.Field) || slices.Contains(query.Without, e.Field) {
			break
		}
		refusals = append(refusals, e)
		query.Without = append(slices.Clip(query.Without), e.Field)
	}
	if isWrong(err) && !answered {
		return err
	}
	for _, e := range refusals {
		k.retire(ctx, report, e)
	}
	return err
}

// isWrong reports whether an error means that the query itself is wrong. Too many rows, days without hours and a
// closed account do not count.
func isWrong(err error) bool {
	e, ok := errors.AsType[*media.Error](err)
	return ok && (e.Class == media.Invalid || e.Class == media.Bug) && e.Parks == "" && !errors.Is(err, media.ErrRowCap) &&
		!errors.Is(err, media.ErrNoHours)
}

// noteTime bounds the write of a retired field, which happens even if the pull's own time is over.
const noteTime = 5 * time.Second

// retire records that the platform refuses a field. If the write fails, the next pull requests the field again.
func (k *Keeper) retire(ctx context.Context, report media.Report, refusal *media.Error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	platform := k.Platform.Name()
	first, err := k.Store.RetireReportField(ctx, settings.ReportField{
		Media: platform, Report: report.Name, Level: report.Level, Field: refusal.Field, Reason: refusal.Error(),
		ChangedBy: "adsync",
	})
	if err != nil {
		k.causes.Report(slog.LevelWarn, "retire",
			"cannot record that the platform retired a field", err,
			"media", platform, "field", refusal.Field)
		return
	}
	k.forget()
	if first {
		k.Logger.Error("the platform has retired a field",
			"media", platform, "report", report.Name, "level", report.Level, "field", refusal.Field, "err", refusal)
	}
}

// forget makes the next use read the rows again.
func (k *Keeper) forget() {
	k.mu.Lock()
	k.next = time.Time{}
	k.mu.Unlock()
}

// current returns the rows, at most rowsMaxAge old. While they cannot be read it returns the last ones.
func (k *Keeper) current(ctx context.Context) ([]settings.ReportField, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.have && clock.Until(k.next) > 0 {
		return k.rows, nil
	}
	rows, err := k.Store.ReportFields(ctx, k.Platform.Name())
	if err != nil {
		if !k.have || ctx.Err() != nil {
			return nil, err
		}
		k.next = clock.Mark().Add(readPause)
		k.causes.Report(slog.LevelWarn, "read", "cannot read report_field", err)
		return k.rows, nil
	}
	k.causes.Clear("read")
	k.have, k.next, k.rows = true, clock.Mark().Add(rowsMaxAge), k.rows[:0:0]
	for _, r := range rows {
		if err := Check(k.Platform, r); err != nil {
			k.causes.Report(slog.LevelError, "rows", "row of report_field is invalid", err, "media", r.Media)
			continue
		}
		k.rows = append(k.rows, r)
	}
	return k.rows, nil
}

// chosen returns the fields that rows add to a report and those that they remove.
func chosen(rows []settings.ReportField, report media.Report) (extra, without []string) {
	own := report.Figures.Fields()
	for _, r := range holding(rows, report) {
		isOwn, asks := slices.Contains(own, r.Field), r.State == settings.FieldAsked && r.Accepted
		switch {
		case report.Needs(r.Field):
		case asks && !isOwn:
			extra = append(extra, r.Field)
		case !asks && isOwn:
			without = append(without, r.Field)
		}
	}
	return extra, without
}

// holding returns the row that applies to each field of a report. Of several it is the most specific one, and of
// those the one that names the report.
func holding(rows []settings.ReportField, report media.Report) []settings.ReportField {
	var best []settings.ReportField
	for _, r := range rows {
		if !covers(r, report) {
			continue
		}
		at := slices.IndexFunc(best, func(b settings.ReportField) bool { return b.Field == r.Field })
		switch {
		case at < 0:
			best = append(best, r)
		case particular(r) > particular(best[at]):
			best[at] = r
		}
	}
	return best
}

func covers(r settings.ReportField, report media.Report) bool {
	return (r.Report == "" || r.Report == report.Name) && (r.Level == "" || r.Level == report.Level)
}

func particular(r settings.ReportField) (n int) {
	if r.Report != "" {
		n += 2
	}
	if r.Level != "" {
		n++
	}
	return n
}

// wellFormed matches names that need no escaping on any platform.
var wellFormed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,95}$`)

// RowError names the wrong column of a row of report_field, and what is allowed.
type RowError struct{ Column, Value, Want string }

func (e *RowError) Error() string {
	return fmt.Sprintf("%s %q is refused: want %s", e.Column, e.Value, e.Want)
}

// Check returns a *RowError for an invalid row of report_field.
func Check(platform media.Platform, r settings.ReportField) error {
	if !wellFormed.MatchString(r.Field) {
		return &RowError{"field", r.Field, "the platform's name of a field: letters, digits, _ and ., up to 96"}
	}
	if !slices.Contains([]settings.FieldState{settings.FieldAsked, settings.FieldOff, settings.FieldRetired,
		settings.FieldRefused}, r.State) {
		return &RowError{"state", string(r.State), "asked, off, retired or refused"}
	}
	var reports, levels []string
	for _, report := range platform.Reports() {
		if r.Report == "" || r.Report == report.Name {
			levels = append(levels, report.Level)
			if (r.Level == "" || r.Level == report.Level) && report.Needs(r.Field) {
				want := "a field that " + report.Name + " can do without: this one is a key of its rows or the spend"
				return &RowError{"field", r.Field, want}
			}
		}
		reports = append(reports, report.Name)
	}
	if r.Report != "" && !slices.Contains(reports, r.Report) {
		return &RowError{"report", r.Report, "one of " + list(reports) + ", or none for all"}
	}
	if r.Level != "" && !slices.Contains(levels, r.Level) {
		return &RowError{"level", r.Level, "one of " + list(levels) + ", or none for all"}
	}
	return nil
}

func list(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}
