// Package field keeps which fields the reports of a platform are asked for: those of the platform's package, and what
// the rows of report_field say against it. A field that is added is tried with one call before pulls ask for it. A
// field that the platform refuses is retired there, and the report goes on without it.
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
	// rowsMaxAge is how long the rows are believed: an edit holds within this time.
	rowsMaxAge = 30 * time.Second
	// readPause is how long after a failed reading the next one comes.
	readPause = 5 * time.Second
)

// Options are what a Keeper works with.
type Options struct {
	Platform media.Platform
	Store    *store.Store
	// Clock is that of business days.
	Clock  clock.Clock
	Logger *slog.Logger
}

// Keeper knows the fields of one platform's reports. It is safe for concurrent use.
type Keeper struct {
	Options
	causes *telemetry.CauseLog

	mu   sync.Mutex
	rows []settings.ReportField
	next time.Time // when the rows are read again; zero before the first reading
	have bool
}

// New returns a keeper that has read nothing yet.
func New(o Options) *Keeper {
	return &Keeper{Options: o, causes: telemetry.NewCauseLog(o.Logger)}
}

// Ask implements pull.Fields. A field is retired only if the platform answers the same query without it, or does not
// refuse that as wrong: a refusal that names a field may mean something else. A pull that fails on its way after
// that, at a later page for whatever reason, has learned what it has learned. Fields that the report needs are never
// left out.
func (k *Keeper) Ask(ctx context.Context, report media.Report, query media.ReportQuery,
	do func(media.Report, media.ReportQuery) error) error {
	rows, err := k.current(ctx)
	if err != nil {
		return err
	}
	query.Extra, query.Without = chosen(rows, report)
	noting, answered := report, false // whether any page of the present query was answered
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

// isWrong reports whether an error says that the query itself is wrong, and not that it has too many rows, that its
// days have no hours, or that the account is closed.
func isWrong(err error) bool {
	e, ok := errors.AsType[*media.Error](err)
	return ok && (e.Class == media.Invalid || e.Class == media.Bug) && e.Parks == "" && !errors.Is(err, media.ErrRowCap) &&
		!errors.Is(err, media.ErrNoHours)
}

// noteTime is how long what was learned of a field may take to be written, also when the pull's own time is over.
const noteTime = 5 * time.Second

// retire notes that the platform refuses a field. If this fails, the next pull asks for it again.
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
			"cannot note that the platform has retired a field: every pull asks for it in vain", err,
			"media", platform, "field", refusal.Field)
		return
	}
	k.forget()
	if first {
		k.Logger.Error("the platform has retired a field: the report goes on without it, and its column stays empty",
			"media", platform, "report", report.Name, "level", report.Level, "field", refusal.Field, "err", refusal)
	}
}

// forget has the rows read again before they are used.
func (k *Keeper) forget() {
	k.mu.Lock()
	k.next = time.Time{}
	k.mu.Unlock()
}

// current returns the rows, at most rowsMaxAge old. While they cannot be read the last ones hold.
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
		k.causes.Report(slog.LevelWarn, "read", "cannot read report_field: the fields stay as they are", err)
		return k.rows, nil
	}
	k.causes.Clear("read")
	k.have, k.next, k.rows = true, clock.Mark().Add(rowsMaxAge), k.rows[:0:0]
	for _, r := range rows {
		if err := Check(k.Platform, r); err != nil {
			k.causes.Report(slog.LevelError, "rows", "a row of report_field cannot be used", err, "media", r.Media)
			continue
		}
		k.rows = append(k.rows, r)
	}
	return k.rows, nil
}

// chosen returns what rows say of a report's fields.
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

// holding returns the row that holds for each field in a report: of several the most particular one, and of those the
// one that names the report.
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

// wellFormed are names that no platform would want escaped.
var wellFormed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,95}$`)

// RowError says which column of a row of report_field is wrong, and what is wanted.
type RowError struct{ Column, Value, Want string }

func (e *RowError) Error() string {
	return fmt.Sprintf("%s %q is refused: want %s", e.Column, e.Value, e.Want)
}

// Check tells what is wrong with a row of report_field, as *RowError.
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
				want := "a field that " + report.Name + " can do without: rows are kept apart by it, or it is what was spent"
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
