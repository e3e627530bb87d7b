package producer

import (
	"context"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
)

const (
	// catchUpInterval is the pause between two passes that catch up: what is due meanwhile comes first.
	catchUpInterval = 100 * time.Millisecond
	// caughtUpMax is how many missed moments of one task a pass makes, and looksMax how often it asks the ledger.
	caughtUpMax = 100
	looksMax    = 100
	// pieceMax is how many moments are compared with the ledger at a time.
	pieceMax = 1000
	// countMax bounds the counting of moments that are given up: a minutely task that nobody planned for a year would
	// hold up the others.
	countMax = 10_000
)

// gap is a span of a task's past that is not settled: moments in it may be missing in the ledger. It is found again from
// the ledger by whoever leads next, so that a takeover goes on with the rest and makes none twice.
type gap struct {
	from, through time.Time // the moments after from, up to through
	end           time.Time // what through was before the search backwards moved it
	begun         bool      // whether the ledger was asked about it
	notBefore     time.Time // when the next moment may be made, by the task's spread
	// missing is what the last piece lacked, in the order in which it is to be made. It is no more part of the span.
	missing []time.Time
	step    time.Duration // of the search backwards
	made    int
	givenUp int
}

// widenGap adds a span, whose end is the newest so far, to what is not settled.
func (e *plannedTask) widenGap(from, through time.Time) {
	if e.gap == nil {
		e.gap = &gap{from: from}
	}
	e.gap.putBack()
	e.gap.through = clock.Later(e.gap.through, through)
	e.gap.end = e.gap.through
}

// putBack has what is missing found anew: the order or the policy may be another now, or put something else first.
func (g *gap) putBack() {
	for _, m := range g.missing {
		if !m.After(g.from) {
			g.from = m.Add(-time.Millisecond)
		}
		g.through = clock.Later(g.through, m)
	}
	g.missing, g.step, g.begun = nil, 0, false
}

// windowBegin is the moment up to which what was missed is too old to be caught up.
func windowBegin(tk *loadedTask, now time.Time) time.Time {
	return now.Add(-tk.CatchUpWindow - catchUpAfter)
}

// catchUp makes some of the moments that were missed, as the policies of their tasks say.
func (t *term) catchUp(ctx context.Context, now time.Time) error {
	var ticks []store.Tick
	taken := map[*plannedTask]int{}
	t.plan.looks = looksMax
	for _, e := range t.plan.entries { // in any order, so that each gets its turn
		if t.plan.looks <= 0 {
			break
		}
		if e.gap == nil || e.gap.notBefore.After(now) || t.isPaused(e.task) {
			continue
		}
		if err := t.findMissing(ctx, e, now); err != nil {
			return err
		}
		n := min(len(e.gap.missing), caughtUpMax)
		if e.gap.notBefore.After(now) {
			n = 0
		} else if e.task.CatchUpSpread > 0 {
			n = min(n, 1)
		}
		for _, m := range e.gap.missing[:n] {
			ticks = append(ticks, store.Tick{TaskID: e.task.ID, PlannedAt: m, MadeAt: now})
		}
		taken[e] = n
	}
	if err := t.makeTicks(ctx, ticks, now); err != nil {
		return err
	}
	for e, n := range taken {
		t.take(e, n, now)
	}
	return t.closeGaps(ctx, taken)
}

// take takes moments that were made off a gap.
func (t *term) take(e *plannedTask, made int, now time.Time) {
	if made == 0 {
		return
	}
	e.gap.made += made
	e.gap.missing = e.gap.missing[made:]
	e.gap.notBefore = now.Add(e.task.CatchUpSpread)
	t.metrics.caughtUp.Add(float64(made))
}

// closeGaps ends those of which nothing is left. What was given up in them is so for good: the schedule counts from their
// ends from here on.
func (t *term) closeGaps(ctx context.Context, looked map[*plannedTask]int) error {
	var closed []*plannedTask
	var settled []store.TaskSchedule
	for e := range looked {
		g := e.gap
		if len(g.missing) > 0 || g.from.Before(g.through) {
			continue
		}
		closed = append(closed, e)
		if g.made+g.givenUp > 0 {
			settled = append(settled, store.TaskSchedule{TaskID: e.task.ID, Hash: e.hash, Since: g.end})
		}
	}
	if err := t.store.PutTaskSchedules(ctx, t.lease, settled); err != nil {
		return err
	}
	for _, e := range closed {
		if g := e.gap; g.made+g.givenUp > 0 {
			t.logger.Info("ticks were missed", "task", e.task.Name, "policy", e.task.CatchUp, "caught_up", g.made, "given_up", g.givenUp)
		}
		e.gap = nil
	}
	return nil
}

// abandonGap gives up what is left of a task's gap, for an edit has ended the schedule that planned it.
func (t *term) abandonGap(ctx context.Context, e *plannedTask, now time.Time) error {
	g := e.gap
	if g == nil {
		return nil
	}
	t.plan.looks = looksMax
	begun := g.begun
	g.putBack() // What was found missing may have been made by a pass that failed.
	if g.begun = begun && e.task.CatchUp == task.CatchUpAll; !g.begun {
		if err := t.beginGap(ctx, e, now); err != nil {
			return err
		}
	}
	if e.task.CatchUp == task.CatchUpAll {
		if err := t.leaveWindow(ctx, e, g.end); err != nil {
			return err
		}
	}
	// All of it under another policy, and otherwise what is too much to be looked up.
	t.giveUp(e, countMoments(e.task.schedule, g.from, g.through))
	if g.made+g.givenUp > 0 {
		t.logger.Info("ticks were missed, and an edit of their task has given up those that were left", "task", e.task.Name,
			"policy", e.task.CatchUp, "caught_up", g.made, "given_up", g.givenUp)
	}
	e.gap = nil
	return nil
}

// findMissing finds moments of a task's gap that are to be made, and gives up those that are not.
func (t *term) findMissing(ctx context.Context, e *plannedTask, now time.Time) error {
	if !e.gap.begun {
		if err := t.beginGap(ctx, e, now); err != nil {
			return err
		}
	}
	switch e.task.CatchUp {
	case task.CatchUpAll:
		return t.findAll(ctx, e, now)
	case task.CatchUpLatest:
		return t.findLatest(ctx, e)
	default:
		t.giveUp(e, countMoments(e.task.schedule, e.gap.from, e.gap.through))
		e.gap.from = e.gap.through
		return nil
	}
}

// beginGap asks the ledger where a gap really begins. What was planned before its last tick was settled then, made or
// given up, unless all of it is to be made.
func (t *term) beginGap(ctx context.Context, e *plannedTask, now time.Time) error {
	g, s := e.gap, e.task.schedule
	t.plan.looks--
	last, _, err := t.store.LastTickThrough(ctx, e.task.ID, g.through)
	if err != nil {
		return err
	}
	after := clock.Later(g.from, last.PlannedAt)
	window := clock.Later(g.from, windowBegin(e.task, now))
	if after.Before(window) {
		t.giveUp(e, countMoments(s, after, earliest(window, g.through)))
	}
	if e.task.CatchUp != task.CatchUpAll {
		g.from, g.begun = clock.Later(after, window), true
		return nil
	}
	if spread := e.task.CatchUpSpread; spread > 0 {
		ticks, err := t.store.TicksMadeAfter(ctx, e.task.ID, window, now.Add(-spread))
		if err != nil {
			return err
		}
		for _, tick := range ticks {
			if tick.MadeAt.Sub(tick.PlannedAt) > catchUpAfter {
				g.notBefore = tick.MadeAt.Add(spread) // whoever made it
			}
		}
	}
	g.from, g.begun = window, true
	return nil
}

// giveUp counts moments that will not be made.
func (t *term) giveUp(e *plannedTask, n int) {
	e.gap.givenUp += n
	t.metrics.givenUp.WithLabelValues(string(e.task.CatchUp)).Add(float64(n))
}

// findLatest takes the last moment of a gap, unless a later one was made, and gives the others up.
func (t *term) findLatest(ctx context.Context, e *plannedTask) error {
	g, s := e.gap, e.task.schedule
	if !g.from.Before(g.through) {
		return nil
	}
	t.plan.looks--
	newest, err := t.store.LastTicks(ctx, e.task.ID, 1)
	if err != nil {
		return err
	}
	if m := lastMoment(s, g.from, g.through); !m.IsZero() && (len(newest) == 0 || newest[0].PlannedAt.Before(m)) {
		g.missing = []time.Time{m}
	}
	t.giveUp(e, countMoments(s, g.from, g.through)-len(g.missing))
	g.from = g.through
	return nil
}

// findAll looks through the gap, in the order that the task wants, for moments that the ledger lacks.
func (t *term) findAll(ctx context.Context, e *plannedTask, now time.Time) error {
	g := e.gap
	if err := t.leaveWindow(ctx, e, windowBegin(e.task, now)); err != nil {
		return err
	}
	for len(g.missing) == 0 && g.from.Before(g.through) && t.plan.looks > 0 {
		moments, takeOff := g.piece(e.task.schedule, e.task.CatchUpOrder)
		missing, err := t.notInLedger(ctx, e.task.ID, moments)
		if err != nil {
			return err
		}
		if e.task.CatchUpOrder == task.NewestFirst {
			slices.Reverse(missing)
		}
		g.missing = missing
		takeOff()
	}
	return nil
}

// leaveWindow gives up what has become too old while it waited for its turn.
func (t *term) leaveWindow(ctx context.Context, e *plannedTask, window time.Time) error {
	g := e.gap
	for g.from.Before(g.through) && g.from.Before(window) && t.plan.looks > 0 {
		end := earliest(window, g.through)
		moments := momentsOf(e.task.schedule, g.from, end)
		if len(moments) == pieceMax {
			end = moments[pieceMax-1]
		}
		missing, err := t.notInLedger(ctx, e.task.ID, moments)
		if err != nil {
			return err
		}
		t.giveUp(e, len(missing))
		g.from = end
	}
	before := len(g.missing)
	g.missing = slices.DeleteFunc(g.missing, func(m time.Time) bool { return !m.After(window) })
	t.giveUp(e, before-len(g.missing))
	return nil
}

// piece returns the moments of the next piece of the gap, ascending, and what takes the piece off the span. Backwards, the
// piece grows while nothing is found: a schedule knows only its next moment.
func (g *gap) piece(s schedule.Schedule, order task.CatchUpOrder) (moments []time.Time, takeOff func()) {
	if order != task.NewestFirst {
		moments = momentsOf(s, g.from, g.through)
		end := g.through
		if len(moments) == pieceMax {
			end = moments[pieceMax-1]
		}
		return moments, func() { g.from = end }
	}
	g.step = min(max(2*g.step, 10*time.Minute), 24*time.Hour)
	begin := clock.Later(g.from, g.through.Add(-g.step))
	for m := s.Next(begin); !m.IsZero() && !m.After(g.through); m = s.Next(m) {
		moments = append(moments, m)
	}
	return moments, func() { g.through = begin }
}

// notInLedger returns those of a task's moments, which are ascending, that have no tick.
func (t *term) notInLedger(ctx context.Context, taskID int64, moments []time.Time) ([]time.Time, error) {
	if len(moments) == 0 {
		return nil, nil
	}
	t.plan.looks--
	ticks, err := t.store.TicksBetween(ctx, taskID, moments[0].Add(-time.Millisecond), moments[len(moments)-1])
	if err != nil {
		return nil, err
	}
	made := make(map[int64]bool, len(ticks))
	for _, tick := range ticks {
		made[tick.PlannedAt.UnixMilli()] = true
	}
	return slices.DeleteFunc(moments, func(m time.Time) bool { return made[m.UnixMilli()] }), nil
}

// momentsOf returns the first moments after from, up to through, pieceMax at the most.
func momentsOf(s schedule.Schedule, from, through time.Time) []time.Time {
	var moments []time.Time
	for m := s.Next(from); !m.IsZero() && !m.After(through) && len(moments) < pieceMax; m = s.Next(m) {
		moments = append(moments, m)
	}
	return moments
}

// countMoments counts the moments after from, up to through, no further than countMax.
func countMoments(s schedule.Schedule, from, through time.Time) int {
	n := 0
	for m := s.Next(from); !m.IsZero() && !m.After(through) && n < countMax; m = s.Next(m) {
		n++
	}
	return n
}

// lastMoment returns the last moment after from, up to through, or zero. It looks back in growing steps: a schedule knows
// only its next moment, and there may be very many.
func lastMoment(s schedule.Schedule, from, through time.Time) time.Time {
	var found time.Time
	for back := time.Minute; from.Before(through); back *= 8 {
		begin := clock.Later(from, through.Add(-back))
		for m := s.Next(begin); !m.IsZero() && !m.After(through); m = s.Next(m) {
			found = m
		}
		if !found.IsZero() || begin.Equal(from) {
			break
		}
	}
	return found
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
