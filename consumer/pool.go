package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/ants/v2"

	"adsync/base/broker"
	"adsync/base/service"
	"adsync/base/store/settings"
)

// beginningMax is how many subtasks of a lane may be between their beginning and their first call of a platform.
// Thousands that begin at once leave the process no time for the answers of the others: Redis then seems away, and
// calls exceed the limits.
const beginningMax = 64

// releaseGrace is how long a stop waits for handlers that continue after the end of their context.
const releaseGrace = 500 * time.Millisecond

// A subtask that has a slot and is refused a worker tries again: submitSpins times at once, because a worker that has
// released its slot is free a moment later, then after pauses that grow to submitPauseMax.
const (
	submitSpins    = 10
	submitPauseMin = 100 * time.Microsecond
	submitPauseMax = 20 * time.Millisecond
)

// pool works on one lane of one media platform: a slow platform takes no worker from another.
type pool struct {
	c        *Consumer
	name     laneName
	member   service.Service
	workers  *ants.Pool // bounds what runs; its capacity follows the slots
	slots    *slots     // the same bound with waiting in order and with a context, which ants does not offer
	busy     sync.WaitGroup
	limit    *workersLimit
	asking   chan struct{} // full while an exclusive subtask of the lane asks for its floor
	assigned *assigned
	drains   drains
	// beginning holds a token for each subtask between its beginning and its first call of a platform.
	beginning chan struct{}
	// importance is the rank of the lane's calls among those that wait for the same limit.
	importance atomic.Int64
}

func newPool(c *Consumer, name laneName, row settings.Lane) (*pool, error) {
	// A blocking submit cannot be ended by a context and misses a wakeup if Tune is called at the same time.
	workers, err := ants.NewPool(row.PoolSize, ants.WithNonblocking(true))
	if err != nil {
		return nil, fmt.Errorf("make a pool of workers: %w", err)
	}
	p := &pool{c: c, name: name, workers: workers, beginning: make(chan struct{}, beginningMax),
		asking: make(chan struct{}, 1)}
	p.slots = newSlots(row.PoolSize, workers.Tune)
	p.limit = newWorkersLimit(p.slots, c.claims, name)
	p.rank(row)
	p.assigned = newAssigned(c, c.kafka.groupName(name), p.slots)
	return p, nil
}

// join starts to read the lane, with a limit of workers over all consumers.
func (p *pool) join(ctx context.Context, workersMax int) error {
	p.limit.set(ctx, workersMax)
	p.member = p.c.kafka.join(p.name, p.take, p.assigned)
	err := p.member.Start(ctx)
	if err != nil {
		p.limit.set(ctx, 0)
	}
	return err
}

// mayBegin waits until few enough subtasks are beginning. The returned function marks the subtask as no longer
// beginning; it may be called twice. mayBegin returns nil when ctx ends first. Where there is room, a subtask whose
// ctx has ended begins as well, and its row decides whether it is ended or abandoned.
func (p *pool) mayBegin(ctx context.Context) func() {
	select {
	case p.beginning <- struct{}{}:
		return p.begun()
	default:
	}
	select {
	case p.beginning <- struct{}{}:
		return p.begun()
	case <-ctx.Done():
		return nil
	}
}

// begun returns the token of one subtask, once.
func (p *pool) begun() func() {
	var over atomic.Bool
	return func() {
		if !over.Swap(true) {
			<-p.beginning
		}
	}
}

// rank sets the lane's importance from its row. An invalid one counts as none; the producer reports it.
func (p *pool) rank(row settings.Lane) {
	p.importance.Store(int64(settings.LaneImportance(p.name.lane, row.Importance)))
}

// resize changes how many subtasks may run at a time, in this consumer and in all together. Running ones continue.
func (p *pool) resize(ctx context.Context, row settings.Lane) {
	if _, now := p.slots.state(); now != row.PoolSize {
		p.slots.resize(row.PoolSize)
		p.c.log.Info("pool resized", "media", p.name.media, "lane", p.name.lane, "pool_size", row.PoolSize)
	}
	if p.limit.set(ctx, row.WorkersMax) {
		p.c.log.Info("limit of all consumers' workers changed", "media", p.name.media, "lane", p.name.lane, "workers_max",
			row.WorkersMax)
	}
}

// start works on a subtask, on a slot that the caller holds and that release returns. It waits for a worker, since
// none is free while subtasks that have taken back lent slots exceed the bound. If ctx or the pool ends first, the
// message is left to the next owner of its partition.
func (p *pool) start(ctx context.Context, s subtask, release func()) {
	p.busy.Add(1)
	run := func() {
		defer p.busy.Done()
		defer release()
		p.work(ctx, s)
	}
	if err := p.submit(ctx, run); err != nil {
		p.abandon(s.message)
		s.leave()
		release()
		p.busy.Done()
	}
}

// submit passes run to a worker and retries while the pool is full. It returns an error, without running run, if ctx
// ends or the pool is closed.
func (p *pool) submit(ctx context.Context, run func()) error {
	wait := submitPauseMin
	for try := 1; ; try++ {
		err := p.workers.Submit(run)
		switch {
		case !errors.Is(err, ants.ErrPoolOverload):
			return err
		case try <= submitSpins:
			runtime.Gosched()
		case pause(ctx, wait):
			wait = min(2*wait, submitPauseMax)
		default:
			return context.Cause(ctx)
		}
	}
}

// leave stops reading, drains the lane, commits and leaves the group.
func (p *pool) leave(ctx context.Context) {
	p.member.Stop()
	p.limit.set(ctx, 0) // after the work, which counts until it has ended
}

// release ends the workers. Handlers that ignore the end of their context keep running.
func (p *pool) release() {
	idle := make(chan struct{})
	go func() {
		p.busy.Wait()
		close(idle)
	}()
	timer := time.NewTimer(releaseGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		subtasks, handlers := p.c.flights.of(p)
		p.c.log.Error(
			"handlers ignore the end of their context; their results are dropped",
			"media", p.name.media, "lane", p.name.lane, "subtasks", subtasks, "handlers", strings.Join(handlers, ", "))
	}
	// Only those handlers remain, and idle workers, which end on their own. A release that waits for the pool's own
	// goroutines would spin on a core until they have ended.
	p.workers.Release()
}

var _ ending = (*broker.Delivery)(nil)
