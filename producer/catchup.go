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
	// catchUpAfter is how late a moment may be and still be made under any policy: the time that a takeover or a reload
	// takes is not a gap.
	catchUpAfter = time.Minute
	// catchUpInterval is the pause between two passes that catch up, so that due moments come first.
	catchUpInterval = 100 * time.Millisecond
	// caughtUpMax is the most missed moments of one task that a pass makes, and looksMax its most reads of the ledger.
	caughtUpMax = 100
	looksMax    = 100
	// pieceMax is how many moments are compared with the ledger at a time.
	pieceMax = 1000
	// countMax bounds the count of dropped moments: a minutely task that was not planned for a year would hold up the
	// others.
	countMax = 10_000
)

// catchUp makes or drops the missed moments, by the policies of the tasks.
type catchUp struct {
	store    catchUpStore
	lease    lease.Lease
	isPaused func(*tasklist.Task) bool
	metrics  *metrics
	logger   *slog.Logger

	gaps  map[int64]*gap // by task
	looks int            // how often the present pass may still read the ledger
}

// catchUpStore reads which moments were made.
type catchUpStore interface {
	LastTickThrough(ctx context.Context, taskID int64, through time.Time) (ledger.Tick, bool, error)
	LastTicks(ctx context.Context, taskID int64, limit int) ([]ledger.Tick, error)
	TicksBetween(ctx context.Context, taskID int64, after, through time.Time) ([]ledger.Tick, error)
	TicksMadeAfter(ctx context.Context, taskID int64, planned, made time.Time) ([]ledger.Tick, error)
	PutTaskSchedules(ctx context.Context, l lease.Lease, schedules []settings.TaskSchedule) error
}

// gap is a span of a task's past in which moments may be missing in the ledger. The next leader finds it again from the
// ledger, so that a takeover continues with the rest and makes none twice.
type gap struct {
	task          *tasklist.Task
	hash          string    // of its schedule
	from, through time.Time // the moments after from, up to through
	end           time.Time // what through was before the search backwards moved it
	begun         bool      // whether beginGap has read the ledger
	notBefore     time.Time // when the next moment may be made, by the task's spread
	// missing holds the missing moments of the last piece, in the order in which they are made. The span no longer
	// contains them.
	missing []time.Time
	step    time.Duration // of the search backwards
	made    int
	givenUp int
}

// missed adds a span, whose end is the newest so far, to a task's gap.
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

// edited replaces the task of a gap by its present version, which has the same schedule.
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

// until returns how long no moment needs to be made.
func (c *catchUp) until(of clock.Clock) time.Duration {
	d := planInterval
	for _, g := range c.gaps {
		if !c.isPaused(g.task) {
			d = min(d, max(of.Until(g.notBefore), catchUpInterval))
		}
	}
	return d
}

// putBack returns the missing moments to the span, to be found again: the order or the policy may have changed.
func (g *gap) putBack() {
	for _, m := range g.missing {
		if !m.After(g.from) {
			g.from = m.Add(-time.Millisecond)
		}
		g.through = clock.Later(g.through, m)
	}
	g.missing, g.step, g.begun = nil, 0, false
}

// windowBegin returns the moment up to which missed moments are too old to be caught up.
func windowBegin(tk *tasklist.Task, now time.Time) time.Time {
	return now.Add(-tk.CatchUpWindow - catchUpAfter)
}

// make calls makeTicks for some of the missed moments.
func (c *catchUp) make(ctx context.Context, now time.Time,
	makeTicks func(context.Context, []ledger.Tick, time.Time) error) error {
	var ticks []ledger.Tick
	taken := map[*gap]int{}
	c.looks = looksMax
	for _, g := range c.gaps { // in any order, so that none is always last
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

// take removes made moments from a gap.
func (c *catchUp) take(g *gap, made int, now time.Time) {
	if made == 0 {
		return
	}
	g.made += made
	g.missing = g.missing[made:]
	g.notBefore = now.Add(g.task.CatchUpSpread)
	c.metrics.caughtUp.Add(float64(made))
}

// closeGaps closes the gaps that are empty. Their dropped moments stay dropped: the schedule counts from their ends
// from now on.
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

// abandon drops the rest of a task's gap, because an edit has ended its schedule.
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
	// Under another policy this is the whole gap, otherwise the part that is too large to be read.
	c.giveUp(g, countMoments(g.task.Schedule, g.from, g.through))
	if g.made+g.givenUp > 0 {
		c.logger.Info("ticks were missed; an edit of the task dropped the rest", "task", g.task.Name,
			"policy", g.task.CatchUp, "caught_up", g.made, "given_up", g.givenUp)
	}
	delete(c.gaps, taskID)
	return nil
}

// findMissing finds the moments of a task's gap to make, and drops the others.
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

// beginGap reads from the ledger where a gap really begins. Moments before its last tick were made or dropped then,
// unless all are to be made.
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
				g.notBefore = tick.MadeAt.Add(spread) // also if another process made it
			}
		}
	}
	g.from, g.begun = window, true
	return nil
}

// giveUp counts dropped moments.
func (c *catchUp) giveUp(g *gap, n int) {
	g.givenUp += n
	c.metrics.givenUp.WithLabelValues(string(g.task.CatchUp)).Add(float64(n))
}

// findLatest takes the last moment of a gap, unless a later one was made, and drops the others.
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

// findAll searches the gap, in the task's order, for moments that are not in the ledger.
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

// leaveWindow drops moments that have become too old while they waited.
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

// piece returns the moments of the next piece of the gap, ascending, and a function that removes the piece from the
// span. In a backward search the piece grows until it contains a moment, because a schedule only computes its next
// moment.
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

// notInLedger returns those of a task's ascending moments that have no tick.
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

// momentsOf returns the first moments after from, up to through, at most most of them.
func momentsOf(s schedule.Schedule, from, through time.Time, most int) []time.Time {
	var moments []time.Time
	for m := s.Next(from); !m.IsZero() && !m.After(through) && len(moments) < most; m = s.Next(m) {
		moments = append(moments, m)
	}
	return moments
}

// countMoments counts the moments after from, up to through, at most up to countMax.
func countMoments(s schedule.Schedule, from, through time.Time) int {
	n := 0
	for m := s.Next(from); !m.IsZero() && !m.After(through) && n < countMax; m = s.Next(m) {
		n++
	}
	return n
}

// lastMoment returns the last moment after from, up to through, or zero. It searches backward in growing steps,
// because a schedule only computes its next moment and the span may hold very many.
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
