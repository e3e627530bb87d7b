package publish

import (
	"context"
	"errors"
	"time"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/media"
)

// revisit takes a second look at a published file: its webhook is called, it is verified once, and compared with a new
// rendering as often as its subscription says.
func (f files) revisit(ctx context.Context, p *publishing.Publication) error {
	now := f.Clock.Now()
	due := func(at time.Time) bool { return !at.IsZero() && !at.After(now) }
	if due(p.WebhookAt) { // First, as the others may fail.
		if err := f.notify(ctx, p, now); err != nil {
			return err
		}
	}
	if !due(p.CheckAt) && !due(p.CompareAt) {
		return nil // An earlier delivery of this subtask, or another order, has done it.
	}
	if due(p.CheckAt) {
		if err := f.check(ctx, p); err != nil {
			return err
		}
	}
	if due(p.CompareAt) {
		if err := f.compare(ctx, p, now); err != nil {
			return err
		}
	}
	p.UpdatedAt = now
	return f.Store.FileRevisited(ctx, p)
}

// compare renders a published file again. A content that differs from what was published, is whole, and was the same
// when it was rendered a quiet time before, becomes the next revision.
func (f files) compare(ctx context.Context, p *publishing.Publication, now time.Time) error {
	s, err := f.corrected(ctx, p)
	if err != nil {
		return err
	}
	if s == nil {
		p.Compared, p.CompareAt = "", time.Time{}
		return nil
	}
	sum, err := f.rendering(ctx, s, p)
	if err != nil && !errors.Is(err, errUnwhole) && !errors.Is(err, errAbsent) {
		return err
	}
	p.CompareAt = now.Add(s.corrections.every())
	switch {
	case err != nil, sum == p.SHA256 && !p.Incomplete:
		p.Compared = ""
	case sum == p.Compared, sum == p.SHA256:
		p.CompareAt = time.Time{}
		return f.correct(ctx, s, p, now)
	default:
		p.Compared, p.CompareAt = sum, now.Add(s.corrections.quiet())
	}
	if !p.CompareAt.Before(p.CorrectUntil) {
		p.CompareAt = time.Time{}
	}
	return nil
}

// corrected returns the subscription of a file if the file is to be compared, and nil if it is not: the subscription is
// gone, or has no corrections any more, or there is a later revision, which is compared instead.
func (f files) corrected(ctx context.Context, p *publishing.Publication) (*Subscription, error) {
	row, err := f.Store.Subscription(ctx, p.Subscription)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := Check(row)
	if err != nil || s.corrections.EveryMinutes == 0 || !row.Enabled {
		return nil, nil //nolint:nilerr // A subscription that cannot be used makes no files: the planning reports it.
	}
	made, err := f.Store.FilesOfPeriods(ctx, p.Subscription, string(p.FromDay), string(p.ToDay))
	if err != nil {
		return nil, err
	}
	for i := range made {
		if made[i].FromDay == p.FromDay && made[i].ToDay == p.ToDay && made[i].Revision > p.Revision {
			return nil, nil
		}
	}
	return s, nil
}

// rendering returns the SHA-256 of what the file would be now. Its error is errUnwhole if figures are missing that the
// file waits for, and errAbsent if its source is not there.
func (f files) rendering(ctx context.Context, s *Subscription, p *publishing.Publication) (string, error) {
	full := func(err error) error {
		if errors.Is(err, errSpoolFull) {
			f.metrics.spoolFull.Inc()
			return &media.DeferError{After: fullWait, Reason: err.Error()}
		}
		return err
	}
	part, err := f.Spool.create(p.ID)
	if err != nil {
		return "", full(err)
	}
	defer part.drop()
	again := *p
	again.LatestAt = time.Time{} // A correction is whole.
	again.Lane = ""              // It is not delivered, and so has no lane to outgrow.
	d := delivery{files: f, p: &again, s: s}
	if _, _, err := d.write(ctx, part); err != nil {
		return "", full(err)
	}
	return part.sum(), nil
}

// correct plans the next revision of a file.
func (f files) correct(ctx context.Context, s *Subscription, p *publishing.Publication, now time.Time) error {
	next := s.publication(Period{From: p.FromDay, To: p.ToDay}, p.Sequence, now, now)
	next.Revision, next.CorrectUntil, next.LatestAt = p.Revision+1, p.CorrectUntil, time.Time{}
	next.Name = s.path.name(s, &next)
	_, err := f.Store.PlanFiles(ctx, []publishing.Publication{next})
	return err
}

// check verifies a published file again, when every try that could still have changed it has ended.
func (f files) check(ctx context.Context, p *publishing.Publication) error {
	destination, err := f.Store.Destination(ctx, p.Destination)
	if errors.Is(err, sqldb.ErrNotFound) {
		p.CheckAt = time.Time{}
		return nil
	}
	if err != nil {
		return err
	}
	config, err := PlaceConfig(f.Box, destination)
	if err != nil {
		return &media.Error{Class: media.Invalid, Message: err.Error()}
	}
	at := &delivery{files: f, p: p, config: config}
	if err := at.allowed(ctx); err != nil {
		return err
	}
	if err := at.connect(ctx); err != nil {
		return err
	}
	defer at.close(ctx)
	same, exists, err := at.place.Visible(ctx, at.file(nil))
	if err != nil {
		return at.blame(ctx, atPlace("look for the file at the destination", err))
	}
	if err := f.Store.DestinationWorked(ctx, p.Destination, time.Time{}); err != nil {
		return err
	}
	p.CheckAt = time.Time{}
	switch {
	case !exists:
		// Who fetches files may delete them: that is no fault.
	case !same:
		if rivals, err := f.Store.FileRivals(ctx, p); err != nil {
			return err
		} else if !laterRevision(rivals, p) {
			p.State = publishing.Failed
			p.ErrorText = "the file at the destination is not the one that was delivered: deliver it again"
		}
	}
	return nil
}

// laterRevision reports whether the name belongs to another file of the subscription by now.
func laterRevision(rivals []publishing.Publication, p *publishing.Publication) bool {
	for _, r := range rivals {
		if r.Subscription == p.Subscription && r.ID != p.ID && !r.VisibleAt.Before(p.VisibleAt) {
			return true
		}
	}
	return false
}
