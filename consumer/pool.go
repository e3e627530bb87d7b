package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/ants/v2"

	"adsync/base/broker"
	"adsync/base/service"
	"adsync/base/store"
)

// beginningMax is how many subtasks of a lane may be between their beginning and their first call of a platform at a time. Thousands that
// begin at once leave the process no time for the answers of those that are further on: Redis then seems away, and calls go out beyond
// the limits.
const beginningMax = 64

// releaseGrace is how long a stop waits for handlers that go on though their context has ended.
const releaseGrace = 500 * time.Millisecond

// pool works on one lane of one media platform: a slow platform takes no worker from another.
type pool struct {
	c       *Consumer
	name    laneName
	member  service.Service
	workers *ants.Pool
	slots   *slots // the bound on what runs at a time; ants alone has none that can be waited for with a context
	busy    sync.WaitGroup
	floor   *floor
	given   *given
	drains  drains
	// beginning has room for the subtasks that are between their beginning and their first call of a platform.
	beginning chan struct{}
	// importance is that of the lane's calls among those that wait for the same limit.
	importance atomic.Int64
}

func newPool(c *Consumer, name laneName, row store.Lane) (*pool, error) {
	size := row.PoolSize
	p := &pool{c: c, name: name, slots: newSlots(size), beginning: make(chan struct{}, beginningMax)}
	p.rank(row)
	p.given = newGiven(c, c.kafka.groupName(name), p.slots)
	p.floor = newFloor(p.slots, c.claims, name)
	// The slots are the bound. Those that wait for a call limit have workers and no slots.
	workers, err := ants.NewPool(-1)
	if err != nil {
		return nil, fmt.Errorf("make a pool of workers: %w", err)
	}
	p.workers = workers
	return p, nil
}

// join begins to read.
func (p *pool) join(ctx context.Context) error {
	p.c.claims.beat(ctx, []*floor{p.floor}) // The lane may be another's alone just now.
	p.member = p.c.kafka.join(p.name, p.take, p.given)
	return p.member.Start(ctx)
}

// mayBegin waits until few enough subtasks are beginning. The function returned says that this one is so no more; it may be called again. It
// returns nil when ctx ends first; where there is room, one whose ctx has ended begins as well, and is ended or abandoned as its row says.
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
func (p *pool) rank(row store.Lane) {
	p.importance.Store(int64(store.LaneImportance(p.name.lane, row.Importance)))
}

// resize changes how many subtasks run at a time; those that run go on.
func (p *pool) resize(size int) {
	if _, now := p.slots.state(); now == size {
		return
	}
	p.slots.resize(size)
	p.c.log.Info("a lane's pool has a new size", "media", p.name.media, "lane", p.name.lane, "pool_size", size)
}

// start works on a subtask, on a slot that the caller has acquired; the slot is released when the work ends.
func (p *pool) start(ctx context.Context, s subtask) {
	p.busy.Add(1)
	run := func() {
		defer p.busy.Done()
		defer p.slots.release()
		p.work(ctx, s)
	}
	if err := p.workers.Submit(run); err != nil {
		go run() // The workers are released, and the message must not be dropped.
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
		p.c.log.Error("handlers go on though they were told to end, and are left behind: their subtasks are done again, by whoever has the partition next or at their next try, and what the handlers still say is dropped",
			"media", p.name.media, "lane", p.name.lane, "subtasks", subtasks, "handlers", strings.Join(handlers, ", "))
	}
	// Its error tells nothing: what is still there is those handlers, or workers that are idle and go by themselves.
	_ = p.workers.ReleaseTimeout(releaseGrace)
}

var _ ending = (*broker.Delivery)(nil)
