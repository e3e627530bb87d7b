package consumer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/store/ledger"
	"adsync/base/telemetry"
	"adsync/base/timer"
)

const (
	// outcomeQueue is how many batches may wait to be written. If the store is slow, the queue fills, workers keep their
	// slots until their outcome is queued, and reading stops.
	outcomeQueue = 4
	// flushGrace is how long a stop tries to write the remaining outcomes. It is short because outcomes are written
	// during the whole drain, and it is part of service.StopTimeoutDefault. Subtasks without a written outcome are done
	// again elsewhere.
	flushGrace = 500 * time.Millisecond
	// outcomeWriters is how many batches are written at a time: the next batch is prepared while the database works on
	// one. Batches wait for each other's rows of runs, which each locks last.
	outcomeWriters = 2
)

// ending ends a message; it is a *broker.Delivery.
type ending interface {
	Done()
	Abandon()
	HoldsUp() bool
}

// finished is a subtask's outcome and its message, which must not be finished before the outcome is written.
type finished struct {
	outcome ledger.Outcome
	lane    laneName
	message ending
}

// outcomes writes outcomes in batches.
type outcomes struct {
	store    Store
	timer    Timer // nil = none
	size     int
	interval time.Duration
	recent   *recent
	metrics  *metrics
	causes   *telemetry.CauseLog

	queue    chan finished
	gathers  chan struct{} // has a place: one at a time gathers a batch
	stopping chan struct{}
	ended    chan struct{}
	abort    context.CancelFunc
	failing  atomic.Pointer[error] // of the batch that is being tried again
}

func newOutcomes(cfg Config, s Store, r *recent, m *metrics, causes *telemetry.CauseLog) *outcomes {
	return &outcomes{
		store: s, size: cfg.OutcomeBatch, interval: cfg.OutcomeInterval, recent: r, metrics: m, causes: causes,
		queue:    make(chan finished, outcomeQueue*cfg.OutcomeBatch),
		gathers:  make(chan struct{}, 1),
		stopping: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (o *outcomes) start() {
	var ctx context.Context
	ctx, o.abort = context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for range outcomeWriters {
		writers.Go(func() { o.run(ctx) })
	}
	go func() {
		writers.Wait()
		close(o.ended)
	}()
}

// close writes the outcomes that were added before it, for at most flushGrace. Call it once, after start.
func (o *outcomes) close() {
	close(o.stopping)
	grace := time.AfterFunc(flushGrace, o.abort)
	defer grace.Stop()
	<-o.ended
	o.abort()
}

// add queues an outcome. It blocks while the queue is full. If ctx ends or the consumer stops first, add abandons the
// message and drops the outcome.
func (o *outcomes) add(ctx context.Context, f finished) {
	select {
	case <-o.ended:
		f.message.Abandon()
		return
	default:
	}
	select {
	case o.queue <- f: // Room comes before ctx: what is done should count, however late.
		return
	default:
	}
	select {
	case o.queue <- f:
	case <-ctx.Done():
		f.message.Abandon()
	case <-o.ended:
		f.message.Abandon()
	}
}

// run writes batches until the consumer stops and nothing is left.
func (o *outcomes) run(ctx context.Context) {
	for {
		batch := o.next()
		if batch == nil {
			return
		}
		o.write(ctx, batch)
	}
}

// next returns the next batch, or nil after the last one.
func (o *outcomes) next() []finished {
	o.gathers <- struct{}{}
	defer func() { <-o.gathers }()
	select {
	case first := <-o.queue:
		return o.gather(first)
	case <-o.stopping:
	}
	select {
	case first := <-o.queue:
		return o.gather(first)
	default:
		return nil
	}
}

// gather returns a batch of the outcomes that arrive until it is full, the interval is over or the consumer stops.
func (o *outcomes) gather(first finished) []finished {
	batch := append(make([]finished, 0, o.size), first)
	interval := time.NewTimer(o.interval)
	defer interval.Stop()
	wait := interval.C
	stopping := o.stopping
	for len(batch) < o.size {
		select {
		case f := <-o.queue:
			batch = append(batch, f)
			continue
		default:
		}
		select {
		case f := <-o.queue:
			batch = append(batch, f)
		case <-wait:
			return batch
		case <-stopping:
			return batch
		}
	}
	return batch
}

// write writes a batch and retries until it succeeds: no outcome may be lost while the consumer lives.
func (o *outcomes) write(ctx context.Context, batch []finished) {
	list := make([]ledger.Outcome, len(batch))
	for i, f := range batch {
		list[i] = f.outcome
	}
	failpoint.Hit("consumer.outcomes_gathered")
	began := clock.Mark()
	var stale int
	err := persist(ctx, o.causes, "outcomes", "outcomes cannot be written and work stops; retrying",
		func(ctx context.Context) error {
			var err error
			if stale, err = o.store.ApplyOutcomes(ctx, list); err != nil {
				o.failing.Store(&err)
				o.metrics.flushErrors.Inc()
			}
			return err
		})
	if err != nil {
		o.causes.Report(slog.LevelError, "last outcomes",
			"stopped before the last outcomes were written", err)
		for _, f := range batch {
			f.message.Abandon()
		}
		return
	}
	o.failing.Store(nil)
	o.metrics.flushSeconds.Observe(clock.Since(began).Seconds())
	o.metrics.batchSize.Observe(float64(len(batch)))
	o.metrics.stale.Add(float64(stale))
	failpoint.Hit("consumer.outcomes_written")
	for _, f := range batch {
		o.recent.add(sent{Key: f.outcome.Key, delivery: f.outcome.Delivery})
		o.metrics.subtasks.WithLabelValues(f.lane.media, f.lane.lane, string(f.outcome.State)).Inc()
		f.message.Done()
	}
	o.storeDueTimes(ctx, batch)
}

// storeDueTimes passes the due times of waiting subtasks to the timer, after their rows are written.
func (o *outcomes) storeDueTimes(ctx context.Context, batch []finished) {
	if o.timer == nil {
		return
	}
	var waiting []timer.Entry
	for _, f := range batch {
		if f.outcome.State.Open() {
			waiting = append(waiting, timer.Entry{Key: f.outcome.Key, Delivery: f.outcome.Delivery, DueAt: f.outcome.DueAt})
		}
	}
	if len(waiting) > 0 {
		o.timer.Add(ctx, waiting)
	}
}

// problem returns why outcomes cannot be written now, or nil.
func (o *outcomes) problem() error {
	if err := o.failing.Load(); err != nil {
		return *err
	}
	return nil
}
