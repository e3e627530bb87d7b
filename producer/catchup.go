package producer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/schedule"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer/tasklist"
)

const (
	// catchUpAfter is how late a moment may be and still be made whatever the policy says: what a takeover or a reload
	// takes is no gap.
	catchUpAfter = time.Minute
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

// catchUp makes what was missed, as the policies of the tasks say, or gives it up.
type catchUp struct {
	store    catchUpStore
	lease    lease.Lease
	isPaused func(*tasklist.Task) bool
	metrics  *metrics
	logger   *slog.Logger

	gaps  map[int64]*gap // by task
	looks int            // how often the present pass may still ask the ledger about what was missed
}

// catchUpStore is what tells which moments were made.
type catchUpStore interface {
	LastTickThrough(ctx context.Context, taskID int64, through time.Time) (ledger.Tick, bool, error)
	LastTicks(ctx context.Context, taskID int64, limit int) ([]ledger.Tick, error)
	TicksBetween(ctx context.Context, taskID int64, after, through time.Time) ([]ledger.Tick, error)
	TicksMadeAfter(ctx context.Context, taskID int64, planned, made time.Time) ([]ledger.Tick, error)
	PutTaskSchedules(ctx context.Context, l lease.Lease, schedules []settings.TaskSchedule) error
}

// gap is a span of a task's past that is not settled: moments in it may be missing in the ledger. It is found again
// from the ledger by whoever leads next, so that a takeover goes on with the rest and makes none twice.
type gap struct {
	task          *tasklist.Task
	hash          string    // of its schedule
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

// missed adds a span, whose end is the newest so far, to what of a task is not settled.
func (c *catchUp) missed(e *plannedTask, from, through time.Time) {
	g := c.gaps[e.task.ID]
	if g == nil {
		g = &gap{task: e.task, hash: e.hash, from: from}
		c.gaps[e.task.ID] = g
	}
	g.putBack()
	g.through = clock.Later(g.through, through)
	g.end = g.through
}

// edited gives a task's gap the task as it is now, whose schedule is the same.
func (c *catchUp) edited(tk *tasklist.Task) {
	g := c.gaps[tk.ID]
	if g == nil {
		return
	}
	if g.task.CatchUp != tk.CatchUp || g.task.CatchUpOrder != tk.CatchUpOrder {
		g.putBack()
	}
	g.task = tk
}

// until tells how long nothing is to be made.
func (c *catchUp) until(of clock.Clock) time.Duration {
	d := planInterval
	for _, g := range c.gaps {
		if !c.isPaused(g.task) {
			d = min(d, max(of.Until(g.notBefore), catchUpInterval))
		}
	}
	return d
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
func windowBegin(tk *tasklist.Task, now time.Time) time.Time {
	return now.Add(-tk.CatchUpWindow - catchUpAfter)
}

// make has makeTicks make some of the moments that were missed.
func (c *catchUp) make(ctx context.Context, now time.Time,
	makeTicks func(context.Context, []ledger.Tick, time.Time) error) error {
	var ticks []ledger.Tick
	taken := map[*gap]int{}
	c.looks = looksMax
	for _, g := range c.gaps { // in any order, so that each gets its turn
		if c.looks <= 0 {
			break
		}
		if g.notBefore.After(now) || c.isPaused(g.task) {
			continue
		}
		if err := c.findMissing(ctx, g, now); err != nil {
			return err
		}
		n := min(len(g.missing), caughtUpMax)
		if g.notBefore.After(now) {
			n = 0
		} else if g.task.CatchUpSpread > 0 {
			n = min(n, 1)
		}
		for _, m := range g.missing[:n] {
			ticks = append(ticks, ledger.Tick{TaskID: g.task.ID, PlannedAt: m, MadeAt: now})
		}
		taken[g] = n
	}
	if err := makeTicks(ctx, ticks, now); err != nil {
		return err
	}
	for g, n := range taken {
		c.take(g, n, now)
	}
	return c.closeGaps(ctx, taken)
}

// take takes moments that were made off a gap.
func (c *catchUp) take(g *gap, made int, now time.Time) {
	if made == 0 {
		return
	}
	g.made += made
	g.missing = g.missing[made:]
	g.notBefore = now.Add(g.task.CatchUpSpread)
	c.metrics.caughtUp.Add(float64(made))
}

// closeGaps ends those of which nothing is left. What was given up in them is so for good: the schedule counts from
// their ends from here on.
func (c *catchUp) closeGaps(ctx context.Context, looked map[*gap]int) error {
	var closed []*gap
	var settled []settings.TaskSchedule
	for g := range looked {
		if len(g.missing) > 0 || g.from.Before(g.through) {
			continue
		}
		closed = append(closed, g)
		if g.made+g.givenUp > 0 {
			settled = append(settled, settings.TaskSchedule{TaskID: g.task.ID, Hash: g.hash, Since: g.end})
		}
	}
	if err := c.store.PutTaskSchedules(ctx, c.lease, settled); err != nil {
		return err
	}
	for _, g := range closed {
		if g.made+g.givenUp > 0 {
			c.logger.Info("ticks were missed", "task", g.task.Name, "policy", g.task.CatchUp, "caught_up", g.made, "given_up",
				g.givenUp)
		}
		delete(c.gaps, g.task.ID)
	}
	return nil
}

// abandon gives up what is left of a task's gap, for an edit has ended the schedule that planned it.
func (c *catchUp) abandon(ctx context.Context, taskID int64, now time.Time) error {
	g := c.gaps[taskID]
	if g == nil {
		return nil
	}
	c.looks = looksMax
	begun := g.begun
	g.putBack() // What was found missing may have been made by a pass that failed.
	if g.begun = begun && g.task.CatchUp == task.CatchUpAll; !g.begun {
		if err := c.beginGap(ctx, g, now); err != nil {
			return err
		}
	}
	if g.task.CatchUp == task.CatchUpAll {
		if err := c.leaveWindow(ctx, g, g.end); err != nil {
			return err
		}
	}
	// All of it under another policy, and otherwise what is too much to be looked up.
	c.giveUp(g, countMoments(g.task.Schedule, g.from, g.through))
	if g.made+g.givenUp > 0 {
		c.logger.Info("ticks were missed, and an edit of their task has given up those that were left", "task", g.task.Name,
			"policy", g.task.CatchUp, "caught_up", g.made, "given_up", g.givenUp)
	}
	delete(c.gaps, taskID)
	return nil
}

// findMissing finds moments of a task's gap that are to be made, and gives up those that are not.
func (c *catchUp) findMissing(ctx context.Context, g *gap, now time.Time) error {
	if !g.begun {
		if err := c.beginGap(ctx, g, now); err != nil {
			return err
		}
	}
	switch g.task.CatchUp {
	case task.CatchUpAll:
		return c.findAll(ctx, g, now)
	case task.CatchUpLatest:
		return c.findLatest(ctx, g)
	default:
		c.giveUp(g, countMoments(g.task.Schedule, g.from, g.through))
		g.from = g.through
		return nil
	}
}

// beginGap asks the ledger where a gap really begins. What was planned before its last tick was settled then, made or
// given up, unless all of it is to be made.
func (c *catchUp) beginGap(ctx context.Context, g *gap, now time.Time) error {
	s := g.task.Schedule
	c.looks--
	last, _, err := c.store.LastTickThrough(ctx, g.task.ID, g.through)
	if err != nil {
		return err
	}
	after := clock.Later(g.from, last.PlannedAt)
	window := clock.Later(g.from, windowBegin(g.task, now))
	if after.Before(window) {
		c.giveUp(g, countMoments(s, after, earliest(window, g.through)))
	}
	if g.task.CatchUp != task.CatchUpAll {
		g.from, g.begun = clock.Later(after, window), true
		return nil
	}
	if spread := g.task.CatchUpSpread; spread > 0 {
		ticks, err := c.store.TicksMadeAfter(ctx, g.task.ID, window, now.Add(-spread))
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
func (c *catchUp) giveUp(g *gap, n int) {
	g.givenUp += n
	c.metrics.givenUp.WithLabelValues(string(g.task.CatchUp)).Add(float64(n))
}

// findLatest takes the last moment of a gap, unless a later one was made, and gives the others up.
func (c *catchUp) findLatest(ctx context.Context, g *gap) error {
	s := g.task.Schedule
	if !g.from.Before(g.through) {
		return nil
	}
	c.looks--
	newest, err := c.store.LastTicks(ctx, g.task.ID, 1)
	if err != nil {
		return err
	}
	if m := lastMoment(s, g.from, g.through); !m.IsZero() && (len(newest) == 0 || newest[0].PlannedAt.Before(m)) {
		g.missing = []time.Time{m}
	}
	c.giveUp(g, countMoments(s, g.from, g.through)-len(g.missing))
	g.from = g.through
	return nil
}

// findAll looks through the gap, in the order that the task wants, for moments that the ledger lacks.
func (c *catchUp) findAll(ctx context.Context, g *gap, now time.Time) error {
	if err := c.leaveWindow(ctx, g, windowBegin(g.task, now)); err != nil {
		return err
	}
	for len(g.missing) == 0 && g.from.Before(g.through) && c.looks > 0 {
		moments, takeOff := g.piece(g.task.Schedule, g.task.CatchUpOrder)
		missing, err := c.notInLedger(ctx, g.task.ID, moments)
		if err != nil {
			return err
		}
		if g.task.CatchUpOrder == task.NewestFirst {
			slices.Reverse(missing)
		}
		g.missing = missing
		takeOff()
	}
	return nil
}

// leaveWindow gives up what has become too old while it waited for its turn.
func (c *catchUp) leaveWindow(ctx context.Context, g *gap, window time.Time) error {
	for g.from.Before(g.through) && g.from.Before(window) && c.looks > 0 {
		end := earliest(window, g.through)
		moments := momentsOf(g.task.Schedule, g.from, end, pieceMax)
		if len(moments) == pieceMax {
			end = moments[pieceMax-1]
		}
		missing, err := c.notInLedger(ctx, g.task.ID, moments)
		if err != nil {
			return err
		}
		c.giveUp(g, len(missing))
		g.from = end
	}
	before := len(g.missing)
	g.missing = slices.DeleteFunc(g.missing, func(m time.Time) bool { return !m.After(window) })
	c.giveUp(g, before-len(g.missing))
	return nil
}

// piece returns the moments of the next piece of the gap, ascending, and what takes the piece off the span.
// Backwards, the piece grows while nothing is found: a schedule knows only its next moment.
func (g *gap) piece(s schedule.Schedule, order task.CatchUpOrder) (moments []time.Time, takeOff func()) {
	if order != task.NewestFirst {
		moments = momentsOf(s, g.from, g.through, pieceMax)
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
func (c *catchUp) notInLedger(ctx context.Context, taskID int64, moments []time.Time) ([]time.Time, error) {
	if len(moments) == 0 {
		return nil, nil
	}
	c.looks--
	ticks, err := c.store.TicksBetween(ctx, taskID, moments[0].Add(-time.Millisecond), moments[len(moments)-1])
	if err != nil {
		return nil, err
	}
	made := make(map[int64]bool, len(ticks))
	for _, tick := range ticks {
		made[tick.PlannedAt.UnixMilli()] = true
	}
	return slices.DeleteFunc(moments, func(m time.Time) bool { return made[m.UnixMilli()] }), nil
}

// momentsOf returns the first moments after from, up to through, at most as many as most.
func momentsOf(s schedule.Schedule, from, through time.Time, most int) []time.Time {
	var moments []time.Time
	for m := s.Next(from); !m.IsZero() && !m.After(through) && len(moments) < most; m = s.Next(m) {
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

// lastMoment returns the last moment after from, up to through, or zero. It looks back in growing steps: a schedule
// knows only its next moment, and there may be very many.
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
