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

// beginningMax is how many subtasks of a lane may be between their beginning and their first call of a platform at a
// time. Thousands that begin at once leave the process no time for the answers of those that are further on: Redis
// then seems away, and calls go out beyond the limits.
const beginningMax = 64

// releaseGrace is how long a stop waits for handlers that continue although their context has ended.
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
	c       *Consumer
	name    laneName
	member  service.Service
	workers *ants.Pool // bounds what runs; its capacity follows the slots
	slots   *slots     // the same bound, made to be waited for in order and with a context, which ants does not offer
	busy    sync.WaitGroup
	floor   *floor
	given   *given
	drains  drains
	// beginning has room for the subtasks that are between their beginning and their first call of a platform.
	beginning chan struct{}
	// importance is that of the lane's calls among those that wait for the same limit.
	importance atomic.Int64
}

func newPool(c *Consumer, name laneName, row settings.Lane) (*pool, error) {
	// A submit that blocks cannot be ended by a context, and misses a wakeup when Tune comes in between.
	workers, err := ants.NewPool(row.PoolSize, ants.WithNonblocking(true))
	if err != nil {
		return nil, fmt.Errorf("make a pool of workers: %w", err)
	}
	p := &pool{c: c, name: name, workers: workers, beginning: make(chan struct{}, beginningMax)}
	p.slots = newSlots(row.PoolSize, workers.Tune)
	p.rank(row)
	p.given = newGiven(c, c.kafka.groupName(name), p.slots)
	p.floor = newFloor(p.slots, c.claims, name)
	return p, nil
}

// join begins to read.
func (p *pool) join(ctx context.Context) error {
	p.c.claims.beat(ctx, []*floor{p.floor}) // The lane may be another's alone just now.
	p.member = p.c.kafka.join(p.name, p.take, p.given)
	return p.member.Start(ctx)
}

// mayBegin waits until few enough subtasks are beginning. The returned function marks the subtask as no longer
// beginning; it may be called twice. mayBegin returns nil when ctx ends first. Where there is room, a subtask whose
// ctx has ended begins as well, and is ended or abandoned as its row says.
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

// begun gives room for another to begin, once.
func (p *pool) begun() func() {
	var over atomic.Bool
	return func() {
		if !over.Swap(true) {
			<-p.beginning
		}
	}
}

// rank takes the lane's importance from its row. One that cannot be used counts as none: the producer names it.
func (p *pool) rank(row settings.Lane) {
	p.importance.Store(int64(settings.LaneImportance(p.name.lane, row.Importance)))
}

// resize changes how many subtasks run at a time; those that run continue.
func (p *pool) resize(size int) {
	if _, now := p.slots.state(); now == size {
		return
	}
	p.slots.resize(size)
	p.c.log.Info("a lane's pool has a new size", "media", p.name.media, "lane", p.name.lane, "pool_size", size)
}

// start works on a subtask, on a slot that the caller has taken and that release returns. It waits for a worker:
// there is none while subtasks that have taken lent slots back run beyond the bound. If ctx or the pool ends first,
// the message is left to the next owner of its partition.
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

// submit gives run to a worker, and tries again while the pool is full. It returns an error, and has not given run to
// any worker, when ctx ends or the pool is closed.
func (p *pool) submit(ctx context.Context, run func()) error {
	wait := submitPauseMin
	for try := 1; ; try++ {
		err := p.workers.Submit(run)
		switch {
		case !errors.Is(err, ants.ErrPoolOverload):
			return err
		case try <= submitSpins:
			runtime.Gosched()
		case pause(ctx, nil, wait):
			wait = min(2*wait, submitPauseMax)
		default:
			return context.Cause(ctx)
		}
	}
}

// leave stops reading, drains, commits and leaves the group.
func (p *pool) leave(ctx context.Context) {
	p.member.Stop()
	p.c.claims.bow(ctx, p.name)
}

// release ends the workers. Handlers that ignored the end of their context are left behind.
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
			"handlers go on though they were told to end, and are left behind: their subtasks are done again, by whoever has "+
				"the partition next or at their next try, and what the handlers still say is dropped",
			"media", p.name.media, "lane", p.name.lane, "subtasks", subtasks, "handlers", strings.Join(handlers, ", "))
	}
	// Its error tells nothing: what is still there is those handlers, or workers that are idle and go by themselves.
	_ = p.workers.ReleaseTimeout(releaseGrace)
}

var _ ending = (*broker.Delivery)(nil)
