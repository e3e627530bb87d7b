package pull

import (
	"cmp"
	"context"
	"errors"

	"adsync/base/store/results"
	"adsync/base/telemetry"
	"adsync/media"
)

// Outside writes the rows that outside workers have pulled: as those of our own pulls, with the same judgement, notes
// and metrics. It is safe for concurrent use.
type Outside struct{ pullers map[string]*puller }

// NewOutside returns the Outside of some platforms. Of deps it uses Store, Clock, Logger and Registerer.
func NewOutside(platforms []media.Platform, deps Deps) *Outside {
	o := &Outside{pullers: make(map[string]*puller, len(platforms))}
	for _, platform := range platforms {
		p := &puller{Deps: deps, platform: platform, metrics: newMetrics(deps.Registerer),
			causes: telemetry.NewCauseLog(deps.Logger)}
		for _, r := range platform.Reports() {
			p.noteWhole(r)
		}
		o.pullers[platform.Name()] = p
	}
	return o
}

// noteWhole adds a report to those that hold all of an account's spend, if it does.
func (p *puller) noteWhole(r media.Report) {
	if !r.Overlaps {
		p.whole = append(p.whole, results.ReportLevel{Report: r.Name, Level: r.Level})
	}
}

// OutsideRows are the rows of a claim's day.
type OutsideRows struct {
	Rows []media.Row
	Lost []media.Row // rows whose keys are unusable
	Note string      // why they are not whole; "" if they are
}

// Fit makes a row fit the tables, as those of our own pulls. A row whose id does not fit is lost.
func Fit(row *media.Row) { fit(row) }

// Write writes the rows under the claim's fence, and returns the state of the day. note is why it is not complete. It
// returns *results.FencedError if a newer pull has claimed the day. It may be repeated.
func (o *Outside) Write(ctx context.Context, account media.Account, report media.Report, claim results.Claim,
	got OutsideRows) (state results.CoverageState, note string, err error) {
	p := o.pullers[account.Media]
	whole := fetched{rows: got.Rows, lost: got.Lost, note: got.Note}
	result, err := p.writeReport(ctx, account, report, claim, whole, media.Work{})
	switch {
	case err == nil:
		return results.Complete, "", nil
	case errors.Is(err, media.ErrSuperseded), errors.Is(err, errFencedOpen):
		return "", "", &results.FencedError{Complete: errors.Is(err, media.ErrSuperseded)}
	case !errors.Is(err, errNotWhole):
		return "", "", err
	case len(result.Suspect) > 0:
		return results.Suspect, result.Why, nil
	}
	return results.Partial, cmp.Or(got.Note, errNote(err)), nil
}

// errNote returns the note of a pull that was not whole.
func errNote(err error) string {
	if e, ok := errors.AsType[*media.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
