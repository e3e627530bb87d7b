package consumer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"adsync/base/failpoint"
	"adsync/base/store/exclusion"
	"adsync/base/task"
)

const (
	// exclusiveMaxDefault and exclusiveDrainDefault are an exclusive subtask's limits if its message names none.
	exclusiveMaxDefault   = time.Minute
	exclusiveDrainDefault = time.Minute
	// drainRetry is how long an exclusive subtask waits before it asks again, if the others were not idle in time.
	drainRetry = 30 * time.Second
	// busyNamed is how many of those that it waited for the reason names.
	busyNamed = 3
)

// hold is what a subtask keeps from others in the database: a serial key or a floor.
type hold struct{ kept atomic.Bool }

// keep leaves it to the subtask's next delivery.
func (h *hold) keep() {
	if h != nil {
		h.kept.Store(true)
	}
}

// exclusive works on an exclusive subtask when it holds its floor. Until then it waits without a slot, and later
// messages of its partition do not wait for it.
func (p *pool) exclusive(ctx context.Context, s subtask) {
	// The row is read first, so that a repeated message does not hold up others.
	if !p.wanted(ctx, s) {
		return
	}
	done, ok := p.takeTurn(ctx, s)
	if !ok {
		return
	}
	want := floorOf(s.Envelope)
	want.Claim = p.c.claims.newClaim()
	turn, ok := p.awaitFloor(ctx, s, want)
	done()
	switch {
	case !ok:
	case turn.Over:
		s.Concurrency = task.Parallel // Its time alone is over.
		p.begin(ctx, s)
	default:
		failpoint.Hit("consumer.floor.held")
		h := &hold{}
		s.hold = h
		s = p.c.floors.admitHolder(s.onLeave(func() {
			if !h.kept.Load() {
				p.endFloor(ctx, want, p.c.deps.Store.ReleaseFloor)
			}
		}))
		p.start(ctx, s, p.slots.seize())
	}
}

// takeTurn lets one exclusive subtask of a lane ask at a time, so that a run with thousands of them has few rows. One
// that was ordered by another run does not wait: that one may hold the floor. Nor does one that has a row since an
// earlier delivery, or from a process that died: the one that asks may wait for it.
func (p *pool) takeTurn(ctx context.Context, s subtask) (done func(), ok bool) {
	if len(s.Ancestors) > 0 {
		return func() {}, true
	}
	for {
		next := p.c.floors.nextReading()
		if p.c.floors.has(s.Key) {
			return func() {}, true
		}
		select {
		case p.asking <- struct{}{}:
			return func() { <-p.asking }, true
		case <-next:
			if p.mayNotWait(s) {
				p.endWait(ctx, s)
				return nil, false
			}
		case <-ctx.Done():
			p.abandon(s.message)
			return nil, false
		}
	}
}

// awaitFloor waits until the subtask holds its floor. Otherwise it ends the message and returns false.
func (p *pool) awaitFloor(ctx context.Context, s subtask, want exclusion.Floor) (turn exclusion.Turn, ok bool) {
	f := p.c.floors
	f.ask(1)
	defer f.ask(-1)
	for mayAdvance := true; ; mayAdvance = f.mayAdvance(turn.Floor) {
		next := f.nextReading()
		if mayAdvance {
			err := persist(ctx, p.c.causes, "floors", "an exclusive subtask cannot ask for its floor; retrying",
				func(ctx context.Context) (err error) {
					turn, err = p.c.deps.Store.AskFloor(ctx, want)
					return err
				})
			if err != nil {
				p.endFloor(ctx, want, p.c.deps.Store.EndFloorWait) // It may have been added.
				p.abandon(s.message)
				return turn, false
			}
			failpoint.Hit("consumer.floor.asked")
		}
		switch {
		case turn.TooSlow:
			p.c.metrics.drainsFailed.Inc()
			why := fmt.Sprintf("others were not idle within %s, so it tries again: %s", turn.Drain, busyText(turn.NotIdle))
			p.c.log.Warn("an exclusive subtask waits: others were not idle in time", "run_id", s.RunID, "task", s.TaskName,
				"drain", turn.Drain, "busy", busyText(turn.NotIdle))
			p.deferFor(ctx, s, drainRetry, why)
			return turn, false
		case !turn.HeldAt.IsZero():
			return turn, true
		}
		select {
		case <-next:
		case <-ctx.Done():
			p.endFloor(ctx, want, p.c.deps.Store.EndFloorWait)
			p.abandon(s.message)
			return turn, false
		}
		if p.mayNotWait(s) {
			p.endFloor(ctx, want, p.c.deps.Store.EndFloorWait)
			p.endWait(ctx, s)
			return turn, false
		}
	}
}

// floorOf returns the floor that an exclusive subtask asks for.
func floorOf(e task.Envelope) exclusion.Floor {
	return exclusion.Floor{
		Key: e.Key, TaskName: e.TaskName, Media: e.Media, Lane: e.Lane, Scope: cmp.Or(e.ExclusiveOver, task.OverLane),
		Ancestors: e.Ancestors, Hold: cmp.Or(max(e.ExclusiveMax, 0), exclusiveMaxDefault),
		Drain: cmp.Or(max(e.ExclusiveDrain, 0), exclusiveDrainDefault), Delivery: e.Delivery,
	}
}

// busyText describes for whom a floor waits.
func busyText(busy []exclusion.NotIdle) string {
	var texts []string
	for _, b := range busy[:min(len(busy), busyNamed)] {
		switch {
		case b.Node == "":
			texts = append(texts, fmt.Sprintf("%d with work outside", b.Running))
		case b.Unread:
			texts = append(texts, b.Node+" has not read it")
		default:
			texts = append(texts, fmt.Sprintf("%s runs %d", b.Node, b.Running))
		}
	}
	if more := len(busy) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// endFloor ends the subtask's floor, or its wait for one, also after the end of ctx. The leader finds those that were
// not released.
func (p *pool) endFloor(ctx context.Context, floor exclusion.Floor,
	end func(ctx context.Context, k task.Key, claim string) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := end(ctx, floor.Key, floor.Claim); err != nil {
		p.c.causes.Report(slog.LevelWarn, "release floor", "a floor was not released; the leader releases it", err)
	}
}

// ask counts the exclusive subtasks that wait for a floor.
func (f *floors) ask(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking += n
}

// has reports whether a subtask had a floor at the last reading.
func (f *floors) has(k task.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys[k]
}

// nextReading returns a channel that is closed at the next reading.
func (f *floors) nextReading() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// mayAdvance reports whether asking may advance a floor: it is in front, or no other one stops its subtask.
func (f *floors) mayAdvance(mine exclusion.Floor) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !mine.FrontAt.IsZero() || !slices.ContainsFunc(f.stopping, func(floor exclusion.Floor) bool {
		return floor.Covers(mine.Media, mine.Lane) && !floor.Admits(mine.Key, mine.Ancestors)
	})
}
