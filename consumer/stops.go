package consumer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

const (
	// stopInterval is how often the orders that stop work are read. With interruptGrace it keeps the promise that an order
	// takes effect on work under way within 5 s.
	stopInterval = time.Second
	// stopTimeout bounds one reading, so that a connection that hangs is given up for a new one.
	stopTimeout = 5 * time.Second
	// interruptGrace is how long a handler may take to return after an order ended its work.
	interruptGrace = 2 * time.Second
	// pauseLook is when a subtask looks again whether the pause that it waits for still holds, if that has no end. The
	// leader makes it due as soon as the pause is lifted; this is for whatever might go wrong with that.
	pauseLook = 24 * time.Hour
	// pauseSpread is over how long subtasks come back whose pause runs out: not all at its last instant.
	pauseSpread = 10 * time.Second
)

// stops are the orders that stop work, as last read.
type stops struct {
	last atomic.Pointer[task.Stops]
	read chan struct{} // closed when they were read for the first time; until then no work begins
	once sync.Once
	// told are the flights that an order has ended before; it belongs to the one goroutine that reads the orders.
	told map[*flight]bool
}

// find returns the order that stops a subtask now, or nil.
func (s *stops) find(e task.Envelope, now time.Time) *task.Stop {
	list := s.last.Load()
	if list == nil {
		return nil
	}
	return list.Find(task.Subject{RunID: e.RunID, TaskID: e.TaskID, AccountID: e.AccountID, Media: e.Media}, now)
}

// none tells whether there are no orders, as nearly always.
func (s *stops) none() bool {
	list := s.last.Load()
	return list == nil || len(list.All()) == 0
}

// await waits until the orders were read once. The end of ctx alone is an error.
func (s *stops) await(ctx context.Context) error {
	select {
	case <-s.read:
		return nil
	default:
	}
	select {
	case <-s.read:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupted tells whether an order stops the work of a subtask before it begins, or nil.
func (c *Consumer) interrupted(e task.Envelope) *interruption {
	if c.stops.none() {
		return nil
	}
	now := c.deps.Clock.Now()
	if stop := c.stops.find(e, now); stop != nil {
		return &interruption{stopped(e, stop, now, c.jitter)}
	}
	return nil
}

// stopped is what becomes of a subtask that an order stops: it has ended, or waits for the pause to end, at no attempt.
func stopped(e task.Envelope, stop *task.Stop, now time.Time, jitter func() float64) verdict {
	if stop.Verb == task.Cancel {
		return verdict{state: task.Cancelled, attempt: e.Attempt, text: stop.Text()}
	}
	due := stop.Until
	if due.IsZero() {
		due = now.Add(pauseLook)
	}
	return verdict{
		state: task.Deferred, attempt: e.Attempt, reason: stop.Text(), text: stop.Text(),
		due: due.Add(time.Duration(jitter() * float64(pauseSpread))), waitsFor: task.PauseRef(stop.ID),
	}
}

// hold puts the due time and what is waited for into an outcome. What waits for a pause, or for a parked account, is
// not expired beforehand, for the pause may be lifted and the account come back; but at the end of its time to live
// the leader looks at it.
func (v verdict) hold(e task.Envelope, o ledger.Outcome, now time.Time) ledger.Outcome {
	o.DueAt, o.WaitsFor = v.due, v.waitsFor
	if v.due.IsZero() {
		o.DueAt = now.Add(v.after)
	}
	if !e.Deadline.IsZero() && o.DueAt.After(e.Deadline) {
		o.DueAt = e.Deadline
	}
	return o
}

// watchStops reads the orders again and again, and ends the work under way that they name.
func (c *Consumer) watchStops(ctx context.Context) {
	ticker := time.NewTicker(stopInterval)
	defer ticker.Stop()
	for {
		c.readStops(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// readStops reads the orders once. While they cannot be read, those that were read last hold on.
func (c *Consumer) readStops(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, stopTimeout)
	list, err := c.deps.Store.ActiveStops(reading)
	cancel()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		c.causes.Report(slog.LevelError, "stops",
			"pauses and cancels cannot be read; those that were read before hold on, and until they were read once no work "+
				"begins", err)
	default:
		c.causes.Recovered("stops", "pauses and cancels can be read again")
		c.stops.last.Store(task.NewStops(list))
		c.stops.once.Do(func() { close(c.stops.read) })
	}
	c.interrupt()
}

// interrupt ends the work under way that an order names. It looks at all of it each time: work may have begun between
// its own look at the orders and now.
func (c *Consumer) interrupt() {
	now := c.deps.Clock.Now()
	told := map[*flight]bool{}
	ended := map[int64]int{}
	orders := map[int64]*task.Stop{}
	for _, f := range c.flights.all() {
		stop := c.stops.find(f.s.Envelope, now)
		if stop == nil || f.ended.Load() {
			continue
		}
		told[f] = true
		if !c.stops.told[f] {
			ended[stop.ID]++
			orders[stop.ID] = stop
			c.metrics.interrupted.WithLabelValues(f.p.name.media, string(stop.Verb)).Inc()
			f.interrupt(&interruption{stopped(f.s.Envelope, stop, now, c.jitter)})
		}
	}
	c.stops.told = told
	for id, n := range ended {
		stop := orders[id]
		c.log.Info("work under way was stopped by an order", "order", id, "verb", string(stop.Verb), "kind",
			string(stop.Kind),
			"target", stop.TargetName, "by", stop.By, "subtasks", n)
	}
}
