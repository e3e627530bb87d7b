// Package producer turns tasks into work: ticks into runs, runs into subtasks, subtasks into messages.
//
// Any number of producers may run. One of them leads and does the work. leader.go lists its loops, and each is a type
// in a file of its name. plan.go holds the path from a cron to a run, fanout.go the path from a run to messages. The
// others keep the tasks loaded, serve the operators' API, and take over when the leader ends. The next leader can
// continue from any point, because the tables hold all progress.
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
	"adsync/producer/jobends"
	"adsync/producer/notice"
	"adsync/producer/tasklist"
	"adsync/producer/trouble"
)

// Broker stores messages.
type Broker interface {
	// Write stores messages and returns their places in the order of msgs. With a *broker.WriteError, the messages that it
	// does not name are stored.
	Write(ctx context.Context, msgs []broker.Message) ([]broker.Position, error)
	EnsureTopics(ctx context.Context, topics []broker.Topic) error
	TopicName(media, lane string) string
	OutcomesTopic() string
	GroupName(media, lane string) string
	// Offsets returns the offsets of the topics' logs and of the group, for every partition, or an error.
	Offsets(ctx context.Context, group string, topics ...string) ([]broker.PartitionOffsets, error)
}

// Timer returns due subtasks early. Its entries are checked, and scans find subtasks that it lacks.
type Timer interface {
	Add(ctx context.Context, entries []timer.Entry)
	Due(ctx context.Context, now time.Time, limit int) ([]timer.Entry, error)
	Remove(ctx context.Context, entries []timer.Entry) error
}

// Watcher exports figures of the tables as metrics.
type Watcher interface {
	// Pass reads the figures again; tasks are the enabled ones.
	Pass(ctx context.Context, tasks []task.Task) error
	LookForHoles(ctx context.Context) error
	// Forget removes the metrics until the next call of either.
	Forget()
}

// Store is what a producer reads and writes. Each loop declares its part.
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
	ReleaseEnded(ctx context.Context) error // what subtasks that no longer work kept from others
	jobends.Store
	redriveStore
	bindingStore
	sqlEditStore
	notice.Store
	logTableStore
	upkeepStore
}

var _ Store = (*store.Store)(nil)

// Deps holds what a producer depends on.
type Deps struct {
	Store    Store
	Registry *media.Registry
	Broker   Broker
	// Clock is the clock of ticks and business days.
	Clock clock.Clock
	// Waiting is the clock of retries and of the times that runs record; nil means Clock. In a deployment both are the
	// database's.
	Waiting    clock.Clock
	Timer      Timer            // nil = none
	Watcher    Watcher          // of the leader; nil = none
	Jobs       jobends.Follower // nil = other programs work no task
	Tracer     *trace.Tracer    // nil = no tracing
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
	timer    Timer            // may be nil
	watcher  Watcher          // may be nil
	jobs     jobends.Follower // may be nil
	tracer   *trace.Tracer
	logger   *slog.Logger
	metrics  *metrics
	tasks    *tasklist.Set
	elector  *lease.Elector
	troubles trouble.Loops
	wake     chan struct{} // wakes the leader's planning

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
		watcher: deps.Watcher, jobs: deps.Jobs, tracer: deps.Tracer, logger: deps.Logger,
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

// versionInterval is how often a producer checks whether another producer's API has changed tasks or ordered a reload.
const versionInterval = 2 * time.Second

// Start loads the tasks and begins to compete for the lead.
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

// Stop ends this producer's lead, if it leads: batches in flight are finished, and another producer may take over at
// once.
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

// Leading reports whether this producer is the leader now.
func (p *Producer) Leading() bool {
	_, leading := p.elector.Current()
	return leading
}

// Ready returns why the producer cannot work, or nil: the tasks could not be loaded recently, or, in the leader, a loop
// fails repeatedly.
func (p *Producer) Ready(context.Context) error {
	if age := p.tasks.Age(); age > 3*p.cfg.ReloadInterval {
		return fmt.Errorf("the tasks were last loaded %s ago", age.Round(time.Second))
	}
	return p.troubles.Problem()
}

// keepLoaded reloads the tasks at each interval, and when another producer has changed them or has ordered a reload.
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
				continue // The next reload reports an error that persists.
			}
			seen = newest
		}
		err := p.tasks.Reload(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			p.logger.Error("cannot load the tasks; the loaded ones stay in force", "err", err)
		}
		failing = err != nil
		p.Wake()
	}
}

// Wake makes this producer look for ticks and orders now, if it leads. Otherwise the leader finds an order within a
// second.
func (p *Producer) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
