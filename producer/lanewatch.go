package producer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/telemetry"
	"adsync/producer/brake"
	"adsync/producer/tasklist"
)

const (
	brakeInterval = 2 * time.Second
	// brakeSoon replaces it while a fan-out rests: consumers may finish the whole backlog within a second.
	brakeSoon = 200 * time.Millisecond
	// looksAtOnce bounds how many lanes are read at the same time, and lookTimeout how long one may take.
	looksAtOnce = 4
	lookTimeout = 5 * time.Second
)

// laneWatch is the loop that reads the lanes' backlogs and sets their brakes.
type laneWatch struct {
	passes  passes
	broker  Broker
	tasks   *tasklist.Set
	brakes  *brake.Brakes
	queue   *fanOutQueue
	metrics *metrics
	causes  *telemetry.CauseLog

	watched time.Time // when the lanes were last watched, by this process's clock
}

// Run watches the lanes until ctx ends.
func (w *laneWatch) Run(ctx context.Context) error {
	return w.passes.run(ctx, w.watchLanes, w.untilLook)
}

// watchLanes reads the backlogs of all lanes in use and sets their brakes.
func (w *laneWatch) watchLanes(ctx context.Context) error {
	begun := clock.Mark()
	w.readLaneRules()
	var group errgroup.Group
	group.SetLimit(looksAtOnce)
	names := w.brakes.ToLookAt(begun)
	errs := make([]error, len(names))
	for i, name := range names {
		group.Go(func() error {
			errs[i] = w.lookAt(ctx, name)
			return nil // An error of one lane does not stop the others.
		})
	}
	_ = group.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch {
	case len(errs) > 0:
		w.causes.Report(slog.LevelWarn, "brakes", "backlogs cannot be read: fan-outs of these lanes have no brake",
			errs[0], "lanes", len(errs))
	case ctx.Err() == nil:
		w.causes.Clear("brakes")
	}
	passed := brakeInterval
	if !w.watched.IsZero() {
		passed = begun.Sub(w.watched)
	}
	w.watched = begun
	if w.brakes.Figures(brake.Metrics{Backlog: w.metrics.backlog, Oldest: w.metrics.oldest, Braked: w.metrics.braked},
		passed) {
		w.queue.reread()
	}
	return nil
}

// untilLook waits until the lanes are due to be read again.
func (w *laneWatch) untilLook(ctx context.Context) {
	waitFor(ctx, brakeSoon, nil)
	if !w.brakes.Resting() {
		waitFor(ctx, brakeInterval-brakeSoon, w.brakes.Rested)
	}
}

// readLaneRules sets the rules of the lanes of all tasks, and of those that had fan-outs, from the loaded rows of lane.
func (w *laneWatch) readLaneRules() {
	list := w.tasks.Current()
	names := w.brakes.Known()
	for _, tk := range list.Tasks {
		if tk.Enabled {
			names[ledger.LaneName{Media: tk.Media, Lane: tk.Lane}] = true
		}
	}
	for name := range names {
		rule, errs := brake.RuleOf(name.Lane, list.Lane(name.Media, name.Lane))
		w.brakes.SetRule(name, rule)
		place := "lane " + name.Media + ":" + name.Lane
		if len(errs) > 0 {
			w.causes.Report(slog.LevelWarn, place, "a row of lane is invalid; the default applies", errs[0], "media",
				name.Media, "lane", name.Lane)
		} else {
			w.causes.Clear(place)
		}
	}
}

// lookAt reads the backlog of one lane. A lane that cannot be read does not hold up its fan-outs; the error is only
// reported.
func (w *laneWatch) lookAt(ctx context.Context, name ledger.LaneName) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	sent := w.brakes.Begin(name)
	offsets, err := w.broker.Offsets(ctx, w.broker.GroupName(name.Media, name.Lane),
		w.broker.TopicName(name.Media, name.Lane))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil // The lead ends.
	}
	w.brakes.Saw(name, clock.Mark(), sent, offsets)
	if errors.Is(err, broker.ErrUnknownTopic) { // No message was ever sent to it.
		return nil
	}
	return err
}
