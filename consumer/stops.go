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
	// stopInterval is how often the stop orders are read. With interruptGrace it ensures that an order takes effect on
	// work under way within 5 s.
	stopInterval = time.Second
	// stopTimeout bounds one read, so that a hanging connection is replaced.
	stopTimeout = 5 * time.Second
	// interruptGrace is how long a handler may take to return after an order ended its work.
	interruptGrace = 2 * time.Second
	// pauseLook is how long a subtask waits for a pause without an end before it is delivered again. The leader makes it
	// due as soon as the pause is lifted; pauseLook is the safety net.
	pauseLook = 24 * time.Hour
	// pauseSpread is the time over which subtasks become due after their pause ends.
	pauseSpread = 10 * time.Second
)

// stops holds the stop orders as last read.
type stops struct {
	last atomic.Pointer[task.Stops]
	read chan struct{} // closed after the first read; until then no work begins
	once sync.Once
	// interrupted holds the flights that an order has ended. Only the goroutine that reads the orders uses it.
	interrupted map[*flight]bool
}

// find returns the order that stops a subtask now, or nil.
func (s *stops) find(e task.Envelope, now time.Time) *task.Stop {
	list := s.last.Load()
	if list == nil {
		return nil
	}
	return list.Find(task.Subject{RunID: e.RunID, TaskID: e.TaskID, AccountID: e.AccountID, Media: e.Media}, now)
}

// none reports whether there are no orders, which is the usual case.
func (s *stops) none() bool {
	list := s.last.Load()
	return list == nil || len(list.All()) == 0
}

// await waits until the orders were read once. Only the end of ctx is an error.
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

// interrupted returns the interruption of a subtask that an order stops before it begins, or nil.
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

// stopped returns the verdict on a subtask that an order stops: it ends, or waits for the end of the pause. Neither
// counts as an attempt.
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

// hold sets an outcome's due time and what it waits for. A subtask that waits for a pause or a parked account does not
// expire early, because the pause may be lifted and the account may return. It is due at the end of its time to live at
// the latest.
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

// watchStops reads the orders every stopInterval and ends the work under way that they name, until ctx ends.
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

// readStops reads the orders once. If that fails, the last ones stay in force.
func (c *Consumer) readStops(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, stopTimeout)
	list, err := c.deps.Store.ActiveStops(reading)
	cancel()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		c.causes.Report(slog.LevelError, "stops",
			"pauses and cancels cannot be read; the last ones stay in force", err)
	default:
		c.causes.Recovered("stops", "pauses and cancels can be read again")
		c.stops.last.Store(task.NewStops(list))
		c.stops.once.Do(func() { close(c.stops.read) })
	}
	c.interrupt()
}

// interrupt ends the work under way that an order names. It checks all flights each time, because work may have begun
// between its own check of the orders and now.
func (c *Consumer) interrupt() {
	now := c.deps.Clock.Now()
	interrupted := map[*flight]bool{}
	ended := map[int64]int{}
	orders := map[int64]*task.Stop{}
	for _, f := range c.flights.all() {
		stop := c.stops.find(f.s.Envelope, now)
		if stop == nil || f.ended.Load() {
			continue
		}
		interrupted[f] = true
		if !c.stops.interrupted[f] {
			ended[stop.ID]++
			orders[stop.ID] = stop
			c.metrics.interrupted.WithLabelValues(f.p.name.media, string(stop.Verb)).Inc()
			f.interrupt(&interruption{stopped(f.s.Envelope, stop, now, c.jitter)})
		}
	}
	c.stops.interrupted = interrupted
	for id, n := range ended {
		stop := orders[id]
		c.log.Info("an order stopped work under way", "order", id, "verb", string(stop.Verb), "kind",
			string(stop.Kind),
			"target", stop.TargetName, "by", stop.By, "subtasks", n)
	}
}
