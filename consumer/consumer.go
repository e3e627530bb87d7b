package consumer

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/roster"
	"adsync/base/service"
	"adsync/base/store/exclusion"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/base/timer"
	"adsync/base/trace"
	"adsync/media"
)

// Store is what a consumer needs of *store.Store.
type Store interface {
	Lanes(ctx context.Context) ([]settings.Lane, error)
	SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]ledger.SubtaskStatus, error)
	ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (stale int, err error)
	ActiveStops(ctx context.Context) ([]task.Stop, error)
	ClaimSerialKey(ctx context.Context, want exclusion.SerialHold) (holder exclusion.SerialHold, err error)
	ReleaseSerialKey(ctx context.Context, h exclusion.SerialHold) error
	ReadFloors(ctx context.Context) (exclusion.Reading, error)
	AskFloor(ctx context.Context, want exclusion.Floor) (exclusion.Turn, error)
	ReleaseFloor(ctx context.Context, k task.Key, claim string) error
	EndFloorWait(ctx context.Context, k task.Key, claim string) error
	ReportFloors(ctx context.Context, node string, running map[int64]int) error
	LeaveFloors(ctx context.Context, node string) error
	RecordStarts(ctx context.Context, group, holder string, startsMax int, starts []ledger.Start) ([]ledger.Assignment,
		error)
	RecordStops(ctx context.Context, group, holder string, stops []ledger.Stop) error
	RecordSuspect(ctx context.Context, group, holder, topic string, partition int, offset int64) (starts int, err error)
}

// Timer stores which subtasks wait, and until when, so that the leader need not search for them. It is best effort.
type Timer interface {
	Add(ctx context.Context, entries []timer.Entry)
}

// Deps are the parts that a consumer works with. All are needed but Node, Redis, Timer, Roster and Slow.
type Deps struct {
	Store      Store
	Registry   *media.Registry
	Broker     *broker.Client
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Node       string // the name of this process in the subtasks' rows
	// Redis keeps serial subtasks of several processes apart; nil with a single process.
	Redis goredis.UniversalClient
	Keys  redis.Keys
	Timer Timer
	// Tracer continues the traces of messages; nil = no tracing.
	Tracer *trace.Tracer
	// Roster lists the live consumers; nil = this consumer is not listed.
	Roster Roster
	// Slow returns the slow endpoints for the roster; nil = none.
	Slow func() []roster.Slow
}

// Consumer runs the subtasks of the lanes that it is subscribed to.
type Consumer struct {
	cfg        Config
	deps       Deps
	log        *slog.Logger
	metrics    *metrics
	recent     *recent
	checker    *checker
	envelopes  task.Envelopes
	outcomes   *outcomes
	kafka      kafka
	jitter     func() float64
	causes     *telemetry.CauseLog
	claims     *claims
	serialKeys *serialKeys // of serial subtasks, as keyInProcess
	floors     *floors
	flights    flights
	care       *semaphore.Weighted // of careful messages; a message that must run alone takes everybody
	stops      stops

	state    sync.Mutex // held by Start and Stop
	started  bool
	stopped  bool
	stop     context.CancelFunc
	reloader sync.WaitGroup
	// The floors are read until the work has ended.
	stopFloors  context.CancelFunc
	floorReader sync.WaitGroup
	good        map[laneName]settings.Lane // the last good state of each lane row; for reload alone

	mu      sync.Mutex // guards what is below
	pools   map[laneName]*pool
	problem error // of the last reload
}

var _ service.Service = (*Consumer)(nil)

// New makes a consumer. It returns an error for refused settings and for metrics that are already registered.
func New(cfg Config, deps Deps) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer config: %w", err)
	}
	c := &Consumer{
		cfg: cfg, deps: deps, log: deps.Logger, kafka: client{deps.Broker},
		recent: newRecent(recentMax), jitter: rand.Float64, pools: map[laneName]*pool{}, good: map[laneName]settings.Lane{},
	}
	c.causes = telemetry.NewCauseLog(c.log)
	c.serialKeys = newSerialKeys()
	c.floors = newFloors(c)
	c.stops.read = make(chan struct{})
	c.care = semaphore.NewWeighted(everybody)
	// The next process of a node has the same name and must not own this one's claims.
	c.claims = &claims{client: deps.Redis, keys: deps.Keys, node: deps.Node + "/" + randomName(), clock: deps.Clock,
		causes: c.causes}
	c.metrics = newMetrics(c)
	c.checker = newChecker(deps.Store, c.causes)
	c.outcomes = newOutcomes(cfg, deps.Store, c.recent, c.metrics, c.causes)
	c.outcomes.timer = deps.Timer
	if err := c.metrics.register(deps.Registerer); err != nil {
		return nil, err
	}
	return c, nil
}

// Start opens the pools of all subscribed lanes and keeps them as the table lane configures them. It returns an error
// if the table cannot be read or no pool can be opened. A single pool that cannot be opened is tried again at each
// reload.
func (c *Consumer) Start(ctx context.Context) error {
	c.state.Lock()
	defer c.state.Unlock()
	switch {
	case c.stopped:
		return errors.New("start the consumer: it was stopped")
	case c.started:
		return errors.New("start the consumer: it is started already")
	}
	c.checker.start()
	c.outcomes.start()
	c.started = true
	var reloading, reading context.Context
	reloading, c.stop = context.WithCancel(context.Background())
	c.readStops(ctx) // before the first message
	c.floors.read(ctx)
	reading, c.stopFloors = context.WithCancel(context.Background())
	c.floorReader.Go(func() { c.floors.watch(reading) })
	if err := c.reload(ctx); err != nil && len(c.open()) == 0 {
		c.shutDown()
		return fmt.Errorf("start the consumer: %w", err)
	}
	c.reloader.Go(func() { c.reloadForEver(reloading) })
	c.reloader.Go(func() { c.watchStops(reloading) })
	c.reloader.Go(func() { c.keepOnRoster(reloading) })
	return nil
}

func randomName() string { return strings.ToLower(cryptorand.Text()[:8]) }

// Stop ends the consumer: it stops reading, gives work under way Config.DrainTimeout to end, writes the outcomes,
// commits the offsets and leaves the groups. Another consumer does interrupted work again.
func (c *Consumer) Stop() {
	c.state.Lock()
	defer c.state.Unlock()
	if c.started && !c.stopped {
		c.shutDown()
	}
	c.stopped = true
}

// shutDown stops what Start started, in the order of the work. An outcome must be written before its offset is
// committed, and a commit is refused after the group is left. So the groups stop, which ends with commit and leave,
// while outcomes are still written. Outcomes of work that ends later follow.
func (c *Consumer) shutDown() {
	c.stopped = true
	c.stop()
	c.reloader.Wait()
	open := c.open()
	var leaving sync.WaitGroup
	for _, p := range open {
		leaving.Go(func() { p.leave(context.Background()) })
	}
	leaving.Wait()
	c.checker.close()
	c.outcomes.close()
	var releasing sync.WaitGroup
	for _, p := range open {
		releasing.Go(p.release)
	}
	releasing.Wait()
	c.stopFloors()
	c.floorReader.Wait()
	c.floors.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pools)
}

// Ready returns why the consumer cannot work now, or nil.
func (c *Consumer) Ready(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	if c.problem != nil {
		errs = append(errs, c.problem)
	}
	if err := c.outcomes.problem(); err != nil {
		errs = append(errs, fmt.Errorf("outcomes cannot be written: %w", err))
	}
	return errors.Join(errs...)
}

// open returns the pools that are open now.
func (c *Consumer) open() []*pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*pool, 0, len(c.pools))
	for _, p := range c.pools {
		out = append(out, p)
	}
	return out
}

// kafka is what a consumer needs of the broker.
type kafka interface {
	ensure(ctx context.Context, lanes map[laneName]int) error
	// join makes a member of the lane's group. It passes its messages to handle and its partitions to parts.
	join(lane laneName, handle func(context.Context, *broker.Message, ending), parts *assigned) service.Service
	groupName(lane laneName) string
	// ends returns the offsets of a topic's next messages, by partition.
	ends(ctx context.Context, topic string) (map[int]int64, error)
}

type client struct{ *broker.Client }

func (c client) ends(ctx context.Context, topic string) (map[int]int64, error) {
	partitions, err := c.Offsets(ctx, "", topic)
	if err != nil {
		return nil, err
	}
	ends := make(map[int]int64, len(partitions))
	for _, p := range partitions {
		ends[p.Partition] = p.End
	}
	return ends, nil
}

// ensure creates the topics of lanes with their numbers of partitions, where they are missing.
func (c client) ensure(ctx context.Context, lanes map[laneName]int) error {
	topics := make([]broker.Topic, 0, len(lanes))
	for lane, partitions := range lanes {
		topics = append(topics, broker.Topic{Name: c.TopicName(lane.media, lane.lane), Partitions: partitions})
	}
	return c.EnsureTopics(ctx, topics)
}

func (c client) join(lane laneName, handle func(context.Context, *broker.Message, ending),
	parts *assigned) service.Service {
	return c.NewGroup(broker.GroupConfig{
		Group: c.groupName(lane), Topics: []string{c.TopicName(lane.media, lane.lane)},
		Assigned: parts.begin,
	}, func(ctx context.Context, d *broker.Delivery) { handle(ctx, &d.Message, d) })
}

func (c client) groupName(lane laneName) string { return c.GroupName(lane.media, lane.lane) }
