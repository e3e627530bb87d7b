package publish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/media"
	"adsync/publish/place"
)

const (
	// revealMargin is what must be left of a subtask's time when its file gets its name.
	revealMargin = 30 * time.Second
	// While a destination cannot be used, one file tries it again after probeFirst, and after twice as long each time, up
	// to probeLast. The others wait, at no attempt.
	probeFirst = time.Minute
	probeLast  = 10 * time.Minute
	// busyWait is how long a file waits for one of the destination's connections.
	busyWait = 5 * time.Second
	// fullWait is how long it waits for room on this machine.
	fullWait = time.Minute
	// connectionMax is how long a try without a deadline may hold a connection.
	connectionMax = 4 * time.Hour
	// versionsMax is up to which number a free name is looked for.
	versionsMax = 1000
)

// errOvertaken ends a try whose row was taken over, or that has ended otherwise.
var errOvertaken = errors.New("a later try, or an operator, has taken the file over")

// placeError is an error that is the destination's and not the file's.
type placeError struct{ err error }

func (e *placeError) Error() string { return e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

// delivery is one try to deliver a file.
type delivery struct {
	files
	p      *publishing.Publication
	s      *Subscription
	config place.Config
	place  place.Place // nil before it is connected
	part   *os.File    // the part file, open for reading
	rows   int
}

func (d *delivery) close(ctx context.Context) {
	if d.part != nil {
		_ = d.part.Close()
	}
	if d.place == nil {
		return
	}
	_ = d.place.Close()
	d.returnConnection(ctx, d.p.Destination, d.p.Delivery)
}

// climb does all steps that are left.
func (d *delivery) climb(ctx context.Context) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	// An earlier try may have given the file its name without being able to say so.
	if d.p.State == publishing.Verified || d.p.State == publishing.Visible {
		if err := d.connect(ctx); err != nil {
			return err
		}
		same, _, err := d.place.Visible(ctx, d.file(nil))
		if err != nil {
			return atPlace("look for the file at the destination", err)
		}
		if same {
			if err := d.place.Discard(ctx, d.p.Name, 0); err != nil {
				return atPlace("delete what earlier tries have left", err)
			}
			return d.finish(ctx)
		}
	}
	if err := d.render(ctx); err != nil {
		return err
	}
	if d.p.State == publishing.Empty {
		return nil
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	if err := d.upload(ctx); err != nil {
		return err
	}
	if err := d.reveal(ctx); err != nil {
		return err
	}
	return d.finish(ctx)
}

// atPlace makes the error of a step one of the destination.
func atPlace(step string, err error) error { return &placeError{fmt.Errorf("%s: %w", step, err)} }

// open reads the subscription and the destination.
func (d *delivery) open(ctx context.Context) error {
	row, err := d.Store.Subscription(ctx, d.p.Subscription)
	if errors.Is(err, sqldb.ErrNotFound) {
		return d.end(ctx, publishing.Cancelled, "its subscription was deleted")
	}
	if err != nil {
		return err
	}
	if d.s, err = Check(row); err != nil {
		return &media.Error{Class: media.Invalid, Message: "its subscription cannot be used: " + err.Error()}
	}
	destination, err := d.Store.Destination(ctx, d.p.Destination)
	if errors.Is(err, sqldb.ErrNotFound) {
		return d.end(ctx, publishing.Cancelled, "its destination was deleted")
	}
	if err != nil {
		return err
	}
	if !destination.Enabled {
		return &media.DeferError{After: probeLast,
			Reason: fmt.Sprintf("the destination %s is switched off", destination.Name)}
	}
	if d.config, err = PlaceConfig(d.Box, destination); err != nil {
		return &media.Error{Class: media.Invalid, Message: err.Error()}
	}
	return d.allowed(ctx)
}

// allowed makes the file wait while the destination cannot be used, unless this file is the one to try it again.
func (d *delivery) allowed(ctx context.Context) error {
	now := d.Clock.Now()
	state, may, err := d.Store.MayUseDestination(ctx, d.p.Destination, now, now.Add(probeLast))
	if err != nil || may {
		return err
	}
	// Files that wait come back one after the other, not all at once.
	after := max(state.ProbeAt.Sub(now), 0) + rand.N(busyWait) //nolint:gosec // It only spreads them.
	return &media.DeferError{After: after, Reason: fmt.Sprintf("the destination %s cannot be used since %s: %s",
		d.p.Destination, state.DownSince.UTC().Format(time.RFC3339), state.ErrorText)}
}

// connect takes one of the destination's connections. The first call to the place connects.
func (d *delivery) connect(ctx context.Context) (err error) {
	if d.place != nil {
		return nil
	}
	d.place, err = d.openPlace(ctx, d.p.Destination, d.config, d.p.Delivery)
	return err
}

// end ends the file without an error of its own.
func (d *delivery) end(ctx context.Context, state publishing.State, reason string) error {
	if _, err := d.Store.EndFile(ctx, d.p.ID, state, reason, d.Clock.Now()); err != nil {
		return err
	}
	return errOvertaken
}

// file returns the file as the destination sees it. Content is nil when only its hash is known.
func (d *delivery) file(content *os.File) place.File {
	f := place.File{Name: d.p.Name, Delivery: d.p.Delivery}
	if d.p.ByteSize != nil {
		f.Size = *d.p.ByteSize
	}
	_, _ = hex.Decode(f.SHA256[:], []byte(d.p.SHA256)) // We have written it.
	if content != nil {
		f.Content = content
	}
	return f
}

// step writes the row in its next state.
func (d *delivery) step(ctx context.Context, state publishing.State) error {
	before := d.p.State
	d.p.State, d.p.ErrorText, d.p.UpdatedAt = state, "", d.Clock.Now()
	ok, err := d.Store.StepFile(ctx, d.p)
	if err != nil {
		d.p.State = before
		return err
	}
	if !ok {
		return errOvertaken
	}
	return nil
}

// upload uploads the part file and verifies what arrived.
func (d *delivery) upload(ctx context.Context) error {
	name, err := d.freeName(ctx)
	if err != nil {
		return err
	}
	d.p.Name = name
	f := d.file(d.part)
	keep := func(token string) error {
		d.p.Token = token
		return d.step(ctx, publishing.Rendered)
	}
	failpoint.Hit("publish.rendered")
	token, err := d.place.Upload(ctx, f, keep)
	if err != nil {
		return atPlace("upload the file", err)
	}
	d.p.Token, d.p.UploadedAt = token, d.Clock.Now()
	if err := d.step(ctx, publishing.Uploaded); err != nil {
		return err
	}
	failpoint.Hit("publish.uploaded")
	if err := d.place.Verify(ctx, f, token, d.s.Verify == verifyReadback); err != nil {
		return atPlace("verify the uploaded file", err)
	}
	d.p.VerifiedAt = d.Clock.Now()
	return d.step(ctx, publishing.Verified)
}

// freeName returns the name under which the file is to be delivered.
func (d *delivery) freeName(ctx context.Context) (string, error) {
	first := d.s.path.name(d.s, d.p)
	if d.s.OnExists == existsReplace {
		return first, nil
	}
	ext := d.s.Format.Extension()
	stem := strings.TrimSuffix(first, ext)
	for n := 1; n <= versionsMax; n++ {
		name := first
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		f := d.file(d.part)
		f.Name = name
		same, exists, err := d.place.Visible(ctx, f)
		switch {
		case err != nil:
			return "", atPlace("look for a file of the name", err)
		case !exists || same && d.p.Name == name:
			return name, nil
		case d.s.OnExists == existsRefuse:
			return "", &media.Error{Class: media.Invalid, Message: fmt.Sprintf(
				"there is a file %s, and the subscription's on_exists is refuse: remove that file, or change on_exists", name)}
		}
	}
	return "", &media.Error{Class: media.Invalid,
		Message: fmt.Sprintf("%s and %d later versions exist", first, versionsMax-1)}
}

// reveal gives the file its name, if there is time for it and no later try or revision has begun.
func (d *delivery) reveal(ctx context.Context) error {
	if left, ok := clock.Left(ctx); ok && left < revealMargin {
		return fmt.Errorf("only %s are left to give the file its name: another try will", left.Round(time.Second))
	}
	if err := d.place.Discard(ctx, d.p.Name, d.p.Delivery); err != nil {
		return atPlace("delete what earlier tries have left", err)
	}
	if err := d.newest(ctx); err != nil {
		return err
	}
	failpoint.Hit("publish.discarded")
	// The row still is this try's: a later one would have discarded what is about to get its name.
	if err := d.step(ctx, publishing.Verified); err != nil {
		return err
	}
	failpoint.Hit("publish.verified")
	err := d.place.Reveal(ctx, d.file(d.part), d.p.Token, d.s.OnExists == existsReplace)
	if err != nil {
		return atPlace("give the file its name", err)
	}
	failpoint.Hit("publish.revealed")
	now := d.Clock.Now()
	d.p.VisibleAt = now
	return d.step(ctx, publishing.Visible)
}

// newest returns an error if another subscription's file has the name, or a later revision of the same period. It then
// deletes what this try has uploaded, and spares the upload of the other file.
func (d *delivery) newest(ctx context.Context) error {
	rivals, err := d.Store.FileRivals(ctx, d.p)
	if err != nil {
		return err
	}
	for _, r := range rivals {
		switch {
		case r.Subscription != d.p.Subscription && d.s.OnExists != existsVersion && (r.State.Open() || !r.VisibleAt.IsZero()):
			if err := d.place.Discard(ctx, d.p.Name, r.Delivery); err != nil {
				return atPlace("delete what was uploaded", err)
			}
			return &media.Error{Class: media.Invalid, Message: fmt.Sprintf(
				"the subscription %s writes a file of this name: change the path of one of the two", r.Subscription)}
		case r.Subscription == d.p.Subscription && r.FromDay == d.p.FromDay && r.ToDay == d.p.ToDay &&
			r.Revision > d.p.Revision && r.State != publishing.Cancelled && r.State != publishing.Failed:
			if err := d.place.Discard(ctx, d.p.Name, r.Delivery); err != nil {
				return atPlace("delete what was uploaded", err)
			}
			return d.end(ctx, publishing.Superseded, fmt.Sprintf("revision %d replaces it", r.Revision))
		case r.Subscription == d.p.Subscription && r.ToDay > d.p.ToDay && !r.VisibleAt.IsZero() &&
			d.s.OnExists == existsReplace:
			if err := d.place.Discard(ctx, d.p.Name, r.Delivery); err != nil {
				return atPlace("delete what was uploaded", err)
			}
			return d.end(ctx, publishing.Superseded, "the file of a later period has its name: "+r.Part())
		}
	}
	return nil
}

// finish writes the manifest of a file that has its name.
func (d *delivery) finish(ctx context.Context) error {
	now := d.Clock.Now()
	if d.p.VisibleAt.IsZero() {
		d.p.VisibleAt = now
	}
	if err := d.step(ctx, publishing.Visible); err != nil {
		return err
	}
	if d.s.Manifest {
		if err := d.writeManifest(ctx); err != nil {
			return atPlace("write the manifest", err)
		}
	}
	failpoint.Hit("publish.manifest")
	first := d.p.PublishedAt.IsZero()
	d.p.PublishedAt, d.p.Token = d.Clock.Now(), ""
	d.p.CompareAt, d.p.Compared = time.Time{}, ""
	if next := d.p.PublishedAt.Add(d.s.corrections.every()); d.s.corrections.EveryMinutes > 0 &&
		next.Before(d.p.CorrectUntil) {
		d.p.CompareAt = next
	}
	d.p.WebhookAt, d.p.WebhookError = time.Time{}, ""
	if d.s.Webhook != "" {
		d.p.WebhookAt = d.p.PublishedAt
	}
	// A try that was paused with its name not yet given has ended by then.
	d.p.CheckAt = d.p.PublishedAt
	if left, ok := clock.Left(ctx); ok {
		d.p.CheckAt = d.p.PublishedAt.Add(left)
	}
	if err := d.step(ctx, publishing.Published); err != nil {
		return err
	}
	if first {
		d.metrics.lateness.WithLabelValues(d.p.Destination).Observe(d.p.PublishedAt.Sub(d.p.Moment()).Seconds())
	}
	if d.p.RowCount != nil {
		d.rows = int(*d.p.RowCount)
	}
	d.Spool.Remove(d.p.ID)
	return nil
}

// note writes why a try has failed.
func (d *delivery) note(ctx context.Context, err error) {
	if err == nil || errors.Is(err, errOvertaken) || ctx.Err() != nil {
		return
	}
	d.p.ErrorText, d.p.UpdatedAt = err.Error(), d.Clock.Now()
	if _, err := d.Store.StepFile(ctx, d.p); err != nil {
		d.Logger.Warn("cannot note why a file was not delivered", "file", d.p.Part(), "err", err)
	}
}

// outcome turns the error of a try into that of its subtask.
func (d *delivery) outcome(ctx context.Context, err error) error {
	switch {
	case err == nil && d.place == nil:
		return nil
	case err == nil:
		return d.Store.DestinationWorked(ctx, d.p.Destination, d.p.PublishedAt)
	case errors.Is(err, errOvertaken):
		return media.ErrSuperseded
	case errors.Is(err, errSpoolFull):
		d.metrics.spoolFull.Inc()
		return &media.DeferError{After: fullWait, Reason: err.Error()}
	}
	_, failed := errors.AsType[*placeError](err)
	switch {
	case errors.Is(err, place.ErrExists):
		return &media.Error{Class: media.Invalid, Message: err.Error()}
	case failed && ctx.Err() == nil:
		return d.blame(ctx, err)
	}
	return err
}

// blame finds out whether an error is the destination's: then no other file can be delivered there either, and all of
// them wait, at no attempt, until it can be used again. Otherwise the error is the file's.
func (d *delivery) blame(ctx context.Context, failed error) error {
	if d.place.Probe(ctx) == nil {
		return errors.Join(failed, d.Store.DestinationWorked(ctx, d.p.Destination, time.Time{}))
	}
	if ctx.Err() != nil {
		return failed
	}
	now := d.Clock.Now()
	after := probeFirst
	state, _, err := d.Store.MayUseDestination(ctx, d.p.Destination, now, now.Add(probeLast))
	if err == nil {
		after = min(probeFirst<<min(state.Tries, 5), probeLast)
		err = d.Store.DestinationFailed(ctx, d.p.Destination, failed.Error(), now, now.Add(after))
	}
	if err != nil {
		return errors.Join(failed, err)
	}
	return &media.DeferError{After: after, Reason: "the destination cannot be used: " + failed.Error()}
}
