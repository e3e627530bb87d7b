package producer

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/producer/brake"
	"adsync/producer/jobends"
	"adsync/producer/notice"
)

// How often the leader's loops look for work without a wake-up.
const (
	planInterval   = time.Second // orders are waited for; ticks wake the loop when they are due
	fanOutInterval = time.Second
	dueInterval    = 500 * time.Millisecond
	upkeepInterval = 15 * time.Second
	sweepInterval  = 15 * time.Second
	// exclusionInterval is how long the serial key of a subtask that has ended without its consumer stays taken.
	exclusionInterval = 5 * time.Second
)

// loop is one of the leader's loops.
type loop interface {
	// Run does the loop's work until ctx ends. It returns an error only if this producer may no longer lead.
	Run(ctx context.Context) error
}

// loops holds the loops of one period of this producer's lead, each with its name in the metrics. Their state only
// saves work: the tables hold everything.
type loops struct {
	planning  *planning      // plan: ticks, rounds and orders become runs
	fanOuts   *fanOuts       // fan_out: runs become subtasks
	due       *dueWork       // due: subtasks whose wait is over are sent again
	sweeper   *sweeper       // sweep: lost messages are found
	laneWatch *laneWatch     // brake: fan-outs slow down to the speed of their consumers
	queued    *queuedRelease // queued: subtasks that wait behind an earlier run's
	orders    *stopOrders    // stops: pauses and cancels are read and applied
	cancels   *cancels       // cancel: open subtasks of cancelled work end
	parked    *parkedRelease // parked: subtasks that wait for accounts
	locks     repeated       // exclusion: what subtasks that no longer work kept from others is freed
	redrives  *redrives      // redrive: dead subtasks are released when their redrive has ended
	bindings  *bindings      // bindings: bindings of accounts to games are applied
	edits     *sqlEdits      // edits: edits by SQL are written to audit_log
	notices   []*notices     // outcomes_0 …: the ends of subtasks are sent to their tasks' applications
	upkeep    *upkeepLoop    // upkeep: tables, topics, last good rows, counts
	figures   *figures       // figures: the metrics of the business; nil without a Watcher
	holes     *holes         // holes: holes of coverage are counted; nil without a Watcher
}

// newLoops makes the loops of a lead and their shared parts.
func newLoops(p *Producer, l lease.Lease) *loops {
	s, m, log := p.store, p.metrics, p.logger
	named := func(name string) passes {
		return passes{name: name, failed: m.loopErrors, troubles: &p.troubles, logger: log}
	}
	stops := &stopList{waiting: p.waiting}
	queue, brakes, causes := newFanOutQueue(), brake.New(), telemetry.NewCauseLog(log)
	tables := &logTables{store: s}
	out := &outbox{broker: p.broker, tasks: p.tasks, tracer: p.tracer}
	release := releaser{store: s, timer: p.timer}
	all := &loops{
		planning: newPlanning(p, l, named("plan"), stops.paused, queue),
		fanOuts: &fanOuts{
			passes: named("fan_out"), store: s, lease: l, registry: p.registry, waiting: p.waiting, out: out, tables: tables,
			stops: stops, brakes: brakes, queue: queue, metrics: m, logger: log, causes: causes,
			batchSize: p.cfg.BatchSize, most: p.cfg.MaxFanOuts,
		},
		due: &dueWork{
			passes: named("due"), store: s, lease: l, waiting: p.waiting, timer: p.timer, out: out, brakes: brakes, metrics: m,
			logger: log,
		},
		sweeper: &sweeper{
			passes: named("sweep"), store: s, lease: l, waiting: p.waiting, timer: p.timer, broker: p.broker, brakes: brakes,
			metrics: m, logger: log, done: map[int64]bool{},
		},
		laneWatch: &laneWatch{
			passes: named("brake"), broker: p.broker, tasks: p.tasks, brakes: brakes, queue: queue, metrics: m, causes: causes,
		},
		queued: &queuedRelease{passes: named("queued"), store: s, waiting: p.waiting, logger: log},
		orders: &stopOrders{
			passes: named("stops"), store: s, lease: l, waiting: p.waiting, tables: tables, queue: queue, stops: stops,
			release: release, metrics: m, logger: log, causes: causes,
			logged: map[int64]task.StopVerb{}, releases: map[int64]*released{},
		},
		cancels: &cancels{
			passes: named("cancel"), store: s, lease: l, waiting: p.waiting, stops: stops, logger: log, ended: map[int64]int{},
		},
		parked:   &parkedRelease{passes: named("parked"), store: s, waiting: p.waiting, release: release, logger: log},
		locks:    repeated{named("exclusion"), s.ReleaseEnded, exclusionInterval},
		redrives: &redrives{passes: named("redrive"), store: s, lease: l, tasks: p.tasks, metrics: m},
		bindings: &bindings{passes: named("bindings"), store: s, lease: l, interval: p.cfg.ReloadInterval, logger: log},
		edits:    &sqlEdits{passes: named("edits"), store: s, interval: p.cfg.ReloadInterval},
		upkeep: &upkeepLoop{
			passes: named("upkeep"), store: s, lease: l, clock: p.clock, tasks: p.tasks, out: out, tables: tables, metrics: m,
		},
	}
	for slot := range ledger.NoticeSlots {
		all.notices = append(all.notices, &notices{passes: named("outcomes_" + strconv.Itoa(slot)), sender: notice.Sender{
			Store: s, Lease: l, Slot: slot, Topic: p.broker.OutcomesTopic(), Write: out.writeOutcomes, Sent: m.outcomes,
		}})
	}
	if p.watcher != nil {
		// Each has its own pace: a long search for holes must not make the other figures old.
		all.figures = &figures{
			passes: named("figures"), watcher: p.watcher, tasks: p.tasks, pace: pace{interval: p.cfg.FiguresInterval, times: 9},
		}
		all.holes = &holes{passes: named("holes"), watcher: p.watcher, pace: pace{interval: p.cfg.FiguresInterval, times: 29}}
	}
	return all
}

// list returns the loops that run.
func (l *loops) list() []loop {
	list := []loop{
		l.upkeep, l.bindings, repeated{l.edits.passes, l.edits.note, upkeepInterval}, l.redrives, l.planning, l.fanOuts,
		l.due, l.sweeper, l.laneWatch, l.queued, l.orders, l.cancels, l.locks,
		repeated{l.parked.passes, l.parked.releaseParked, parkedInterval},
	}
	for _, n := range l.notices {
		list = append(list, repeated{n.passes, n.sender.SendAll, noticeInterval})
	}
	if l.figures != nil {
		list = append(list, l.figures, l.holes)
	}
	return list
}

// lead does the leader's work until ctx ends or a guarded write is refused.
func (p *Producer) lead(ctx context.Context, l lease.Lease) error {
	loops := newLoops(p, l)
	p.metrics.leader.Set(1)
	defer p.metrics.leader.Set(0)
	defer p.metrics.forget() // Another one tells them from now on.
	defer p.troubles.Clear()
	if !loops.orders.awaitStops(ctx) {
		return nil
	}
	if p.watcher != nil {
		defer p.watcher.Forget()
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, loop := range loops.list() {
		group.Go(func() error { return loop.Run(ctx) })
	}
	if p.jobs != nil {
		jobs := &jobends.Work{Follower: p.jobs, Store: p.store, Stops: loops.orders.stops.list, Waiting: p.waiting,
			Early: func(ctx context.Context, due []ledger.Due) { addToTimer(ctx, p.timer, due) }}
		passes := passes{name: "jobs", failed: p.metrics.loopErrors, troubles: &p.troubles, logger: p.logger}
		group.Go(func() error { return passes.run(ctx, jobs.Pass, every(jobends.Interval)) })
	}
	return group.Wait()
}
