// Package producer turns tasks into work: ticks into runs, runs into subtasks, subtasks into messages.
//
// Any number of producers may run. One of them leads and does the work: leader.go lists its loops, and each is a type
// in a file of its name. plan.go shows the way from a cron to a run, fanout.go that from a run to messages. The
// others keep the tasks loaded, serve the operators' API, and take over when the leader ends. Everything a leader
// does can be done again by the next one, from any point: the tables say how far it came.
package producer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/service"
	"adsync/base/store"
	"adsync/base/store/leader"
	"adsync/base/task"
	"adsync/base/timer"
	"adsync/base/trace"
	"adsync/media"
	"adsync/producer/tasklist"
)

// Broker is where messages go.
type Broker interface {
	// Write stores messages and returns their places in the order of msgs. After a *broker.WriteError those that it does
	// not name are stored.
	Write(ctx context.Context, msgs []broker.Message) ([]broker.Position, error)
	EnsureTopics(ctx context.Context, topics []broker.Topic) error
	TopicName(media, lane string) string
	GroupName(media, lane string) string
	// Offsets tells how far the logs of the topics and their group are: each partition, or an error.
	Offsets(ctx context.Context, group string, topics ...string) ([]broker.PartitionOffsets, error)
}

// Timer tells early which subtasks are due. What it says is checked, and what it does not say is found by looking.
type Timer interface {
	Add(ctx context.Context, entries []timer.Entry)
	Due(ctx context.Context, now time.Time, limit int) ([]timer.Entry, error)
	Remove(ctx context.Context, entries []timer.Entry) error
}

// Watcher tells figures of the tables as metrics.
type Watcher interface {
	// Pass reads them anew; tasks are those that are enabled.
	Pass(ctx context.Context, tasks []task.Task) error
	LookForHoles(ctx context.Context) error
	// Forget tells none until the next of either.
	Forget()
}

// Store is what a producer reads and writes: each loop names its part of it.
type Store interface {
	Leadership() leader.Leadership
	TasksVersion(ctx context.Context) (int64, error)
	tasklist.Store
	ledgerStore
	planStore
	fanOutStore
	dueStore
	sweepStore
	stopStore
	cancelStore
	releaseStore
	queuedStore
	parkedStore
	redriveStore
	bindingStore
	sqlEditStore
	logTableStore
	upkeepStore
}

var _ Store = (*store.Store)(nil)

// Deps are what a producer works with.
type Deps struct {
	Store    Store
	Registry *media.Registry
	Broker   Broker
	// Clock is that of ticks and business days.
	Clock clock.Clock
	// Waiting is that of retries and of what runs record; nil means Clock. In a deployment both are the database's.
	Waiting    clock.Clock
	Timer      Timer         // nil = none
	Watcher    Watcher       // of the leader; nil = none
	Tracer     *trace.Tracer // nil = nothing is traced
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Producer is one of the deployment's producers.
type Producer struct {
	cfg      Config
	store    Store
	registry *media.Registry
	broker   Broker
	clock    clock.Clock
	waiting  clock.Clock
	timer    Timer   // may be nil
	watcher  Watcher // may be nil
	tracer   *trace.Tracer
	logger   *slog.Logger
	metrics  *metrics
	tasks    *tasklist.Set
	elector  *lease.Elector
	troubles troubles
	wake     chan struct{} // tells the leader's planning that there is something to do

	stopOnce sync.Once
	cancel   context.CancelFunc
	done     chan struct{} // nil before Start
}

var _ service.Service = (*Producer)(nil)

// New makes a producer.
func New(cfg Config, deps Deps) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the producer: %w", err)
	}
	p := &Producer{
		cfg: cfg, store: deps.Store, registry: deps.Registry, broker: deps.Broker, clock: deps.Clock, timer: deps.Timer,
		watcher: deps.Watcher, tracer: deps.Tracer, logger: deps.Logger,
		metrics: m,
		tasks:   tasklist.NewSet(deps.Store, deps.Registry, deps.Logger, m.tasks, m.badTasks),
		wake:    make(chan struct{}, 1),
	}
	p.waiting = deps.Clock
	if deps.Waiting != nil {
		p.waiting = deps.Waiting
	}
	p.elector = lease.New(deps.Store.Leadership(), cfg.LeaseTTL, p.lead, deps.Logger)
	return p, nil
}

// versionInterval is how often a producer looks whether tasks were changed, or a reload was asked for, over the API of
// another one.
const versionInterval = 2 * time.Second

// Start loads the tasks and begins to campaign for the lead.
func (p *Producer) Start(ctx context.Context) error {
	seen, err := p.store.TasksVersion(ctx)
	if err != nil {
		return err
	}
	if err := p.tasks.Reload(ctx); err != nil {
		return err
	}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.done = make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { p.keepLoaded(ctx, seen) })
	if p.cfg.Schedule {
		working.Go(func() { newLedgerWatch(p).run(ctx) })
	}
	go func() {
		working.Wait()
		close(p.done)
	}()
	return p.elector.Start(ctx)
}

// Stop ends the lead, if this producer has it: the batches in flight are finished, and another producer may take over
// at once.
func (p *Producer) Stop() {
	p.stopOnce.Do(func() {
		if p.done == nil {
			return
		}
		p.elector.Stop()
		p.cancel()
		<-p.done
	})
}

// Leading tells whether this producer is the leader now.
func (p *Producer) Leading() bool {
	_, leading := p.elector.Current()
	return leading
}

// Ready tells why the producer cannot do its work, or nil: the tasks could not be loaded of late, or work of the
// leader, if this is it, fails again and again.
func (p *Producer) Ready(context.Context) error {
	if age := p.tasks.Age(); age > 3*p.cfg.ReloadInterval {
		return fmt.Errorf("the tasks were last loaded %s ago", age.Round(time.Second))
	}
	return p.troubles.problem()
}

// keepLoaded reloads the tasks at each interval and when another producer has changed them, or was asked for a reload.
func (p *Producer) keepLoaded(ctx context.Context, seen int64) {
	reload := time.NewTicker(p.cfg.ReloadInterval)
	defer reload.Stop()
	version := time.NewTicker(versionInterval)
	defer version.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload.C:
		case <-version.C:
			newest, err := p.store.TasksVersion(ctx)
			if err != nil || newest == seen {
				continue // What cannot be read now shows at the next reload.
			}
			seen = newest
		}
		err := p.tasks.Reload(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			p.logger.Error("cannot load the tasks, going on with those loaded before", "err", err)
		}
		failing = err != nil
		p.Wake()
	}
}

// Wake has the leader look for ticks and orders now, if this producer leads. Otherwise the leader finds an order
// within a second.
func (p *Producer) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
