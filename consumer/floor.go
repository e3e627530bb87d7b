package consumer

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/store/exclusion"
	"adsync/base/task"
)

const (
	// floorInterval is how often the floors are read.
	floorInterval = time.Second
	// floorPoll is how often while a floor waits for others to be idle, or a subtask of this process waits for a floor.
	floorPoll = 250 * time.Millisecond
	// floorTimeout bounds one reading, and one report.
	floorTimeout = 2 * time.Second
	// floorValid is how long subtasks may begin after the floors were read. It is shorter than exclusion.Silence: what
	// begins by a reading that lacks a floor is reported to it, or its consumer has been silent for so long that it
	// begins nothing more.
	floorValid = 3 * time.Second
	// floorWait is how long a subtask that holds up its partition waits for a floor before its next delivery.
	floorWait = 10 * time.Second
	// tokenHandlers ends the names of the handlers that refresh tokens. They run next to any floor, since a token that
	// dies needs a person.
	tokenHandlers = ".token_refresh"
)

// floors lets nothing begin next to an exclusive subtask of any process. The floors are rows of the database, which
// each consumer reads every second: it begins a subtask only if no floor forbids it by a reading that is not too old,
// and then reports what it runs next to the floors that it has read. See package exclusion for their order.
type floors struct {
	c *Consumer

	mu       sync.Mutex
	readAt   time.Time         // by this process's clock: when the last complete reading began; zero before the first
	stopping []exclusion.Floor // those that nothing may begin next to
	keys     map[task.Key]bool // the subtasks of all floors
	running  map[*begun]struct{}
	parked   []*parked
	asking   int           // exclusive subtasks of this process that wait
	next     chan struct{} // closed at the next reading
	reports  bool          // this consumer has reported, and is to be removed at its end
}

// begun is the message of a subtask that has begun. The subtask counts as running until the message ends, which is
// after its outcome is written: only then do others see whether its work continues outside.
type begun struct {
	ending
	floors *floors
	of     task.Envelope
}

var _ ending = (*begun)(nil)

// Done implements ending.
func (b *begun) Done() {
	b.floors.end(b)
	b.ending.Done()
}

// Abandon implements ending.
func (b *begun) Abandon() {
	b.floors.end(b)
	b.ending.Abandon()
}

func (f *floors) end(b *begun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, b)
}

// parked is a subtask that waits, without a slot, until no floor forbids it.
type parked struct {
	ctx  context.Context
	p    *pool
	s    subtask
	stop func() bool // cancels the call at the end of the context
}

func newFloors(c *Consumer) *floors {
	return &floors{c: c, running: map[*begun]struct{}{}, next: make(chan struct{})}
}

// watch reads the floors until ctx ends.
func (f *floors) watch(ctx context.Context) {
	for pause(ctx, f.interval()) {
		f.read(ctx)
	}
}

func (f *floors) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	drains := slices.ContainsFunc(f.stopping, func(floor exclusion.Floor) bool { return floor.HeldAt.IsZero() })
	if drains || f.asking > 0 {
		return floorPoll
	}
	return floorInterval
}

// read reads the floors once and reports what runs next to them. If either fails, nothing begins once the last reading
// is too old.
func (f *floors) read(ctx context.Context) {
	began := clock.Mark()
	err := f.readAndReport(ctx, began)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		f.c.causes.Report(slog.LevelError, "floors", "the floors of exclusive work cannot be read; nothing begins", err)
	default:
		f.c.causes.Recovered("floors", "the floors of exclusive work can be read again")
	}
	f.wake()
}

func (f *floors) readAndReport(ctx context.Context, began time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, floorTimeout)
	defer cancel()
	reading, err := f.c.deps.Store.ReadFloors(ctx)
	if err != nil {
		return err
	}
	running := f.apply(reading)
	if reading.Reports {
		if err := f.c.deps.Store.ReportFloors(ctx, f.c.claims.node, running); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readAt = began
	f.reports = f.reports || reading.Reports
	return nil
}

// apply puts the floors of a reading in force, and returns how many subtasks run next to each that is in front.
func (f *floors) apply(reading exclusion.Reading) map[int64]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopping, f.keys = nil, map[task.Key]bool{}
	running := map[int64]int{}
	for _, floor := range reading.Floors {
		f.keys[floor.Key] = true
		if floor.FrontAt.IsZero() {
			continue
		}
		if floor.Stops(reading.Now) {
			f.stopping = append(f.stopping, floor)
		}
		n := 0
		for b := range f.running {
			if concerns(floor, b.of) {
				n++
			}
		}
		running[floor.ID] = n
	}
	return running
}

// concerns reports whether a subtask may not run next to a floor.
func concerns(floor exclusion.Floor, e task.Envelope) bool {
	return floor.Covers(e.Media, e.Lane) && !floor.Admits(e.Key, e.Ancestors) &&
		!strings.HasSuffix(e.Handler, tokenHandlers)
}

// stops reports whether a subtask may not begin because of a floor. While a floor waits for others to be idle, those
// with work outside get their deliveries: the work may end by them. The caller holds mu.
func (f *floors) stops(e task.Envelope) bool {
	return slices.ContainsFunc(f.stopping, func(floor exclusion.Floor) bool {
		return concerns(floor, e) && (!e.Outside || !floor.HeldAt.IsZero())
	})
}

// fresh reports whether the last reading is young enough to begin work by it. Both clocks count, because one of them
// stands still while a machine is suspended. The caller holds mu.
func (f *floors) fresh() bool {
	now := clock.Mark()
	byWall := now.Round(0).Sub(f.readAt.Round(0)).Abs()
	return !f.readAt.IsZero() && now.Sub(f.readAt) < floorValid && byWall < floorValid
}

// admit lets a subtask begin, if it may. From then until its message ends it counts as running: floors wait for it.
func (f *floors) admit(s subtask) (subtask, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.fresh() || f.stops(s.Envelope) {
		return s, false
	}
	return f.count(s), true
}

// admitHolder is admit for the subtask of a floor that it holds.
func (f *floors) admitHolder(s subtask) subtask {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count(s)
}

// count returns the subtask as one that runs. The caller holds mu.
func (f *floors) count(s subtask) subtask {
	b := &begun{ending: s.message, floors: f, of: s.Envelope}
	f.running[b] = struct{}{}
	s.message = b
	return s
}

// mayStill reports whether the work of an admitted subtask may begin. It waits for a reading that is young enough:
// after a pause of this process another subtask may hold a floor. Only the end of ctx is an error.
func (f *floors) mayStill(ctx context.Context, e task.Envelope) (bool, error) {
	for {
		f.mu.Lock()
		fresh, next := f.fresh(), f.next
		held := slices.ContainsFunc(f.stopping, func(floor exclusion.Floor) bool {
			return !floor.HeldAt.IsZero() && concerns(floor, e)
		})
		f.mu.Unlock()
		if fresh {
			return !held, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// drains reports whether a floor waits for a subtask to end.
func (f *floors) drains(e task.Envelope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.stopping, func(floor exclusion.Floor) bool {
		return floor.HeldAt.IsZero() && concerns(floor, e)
	})
}

// park keeps a subtask until it may begin, and then starts again with it. Later messages of its partition do not wait
// for it: the holder of the floor may wait for one of them.
func (f *floors) park(ctx context.Context, p *pool, s subtask) {
	s.leave = func() {}
	w := &parked{ctx: ctx, p: p, s: s}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fresh() && !f.stops(s.Envelope) {
		go p.dispatch(ctx, s)
		return
	}
	w.stop = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		i := slices.Index(f.parked, w)
		if i >= 0 {
			f.parked = slices.Delete(f.parked, i, i+1)
		}
		f.mu.Unlock()
		if i >= 0 {
			p.abandon(s.message)
		}
	})
	f.parked = append(f.parked, w)
}

// wake starts again with the parked subtasks that may begin, and ends the wait of those that may wait no longer.
func (f *floors) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.next)
	f.next = make(chan struct{})
	fresh := f.fresh()
	type partition struct {
		p  *pool
		id int
	}
	begin := map[partition][]*parked{}
	var still []*parked
	for _, w := range f.parked {
		switch {
		case fresh && !f.stops(w.s.Envelope):
			of := partition{w.p, w.s.partition}
			begin[of] = append(begin[of], w)
		case w.p.mayNotWait(w.s):
			go w.p.endWait(w.ctx, w.s)
		default:
			still = append(still, w)
			continue
		}
		w.stop()
	}
	f.parked = still
	for _, list := range begin {
		go func() { // in the order of their messages
			for _, w := range list {
				w.p.dispatch(w.ctx, w.s)
			}
		}()
	}
}

// mayNotWait reports whether a subtask that waits for a floor must end its wait: an order stops it, it is too old, or
// it keeps its partition from being read.
func (p *pool) mayNotWait(s subtask) bool {
	late := !s.Deadline.IsZero() && !p.c.deps.Clock.Now().Before(s.Deadline)
	return late || s.message.HoldsUp() || p.c.interrupted(s.Envelope) != nil
}

// endWait ends a subtask that mayNotWait: by its order or its age, or as deferred.
func (p *pool) endWait(ctx context.Context, s subtask) {
	if p.wanted(ctx, s) {
		p.deferFor(ctx, s, floorWait, "an exclusive subtask keeps others from running")
	}
}

// deferFor defers a subtask that has not begun.
func (p *pool) deferFor(ctx context.Context, s subtask, after time.Duration, why string) {
	now := p.c.deps.Clock.Now()
	p.finish(ctx, deferred(s.Envelope, after, why, "", p.c.jitter).outcome(s.Envelope, now), now, s.message)
}

// leave removes this consumer from those that floors wait for, after its work has ended.
func (f *floors) leave() {
	if !f.reports {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), floorTimeout)
	defer cancel()
	if err := f.c.deps.Store.LeaveFloors(ctx, f.c.claims.node); err != nil {
		f.c.causes.Report(slog.LevelWarn, "floors", "exclusive work waits some seconds for this consumer's end", err)
	}
}
