package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

const (
	// watchInterval is how often the ends of the held partitions and the number of partitions are checked.
	watchInterval = 15 * time.Second
	// commitAgainInterval is how often finished offsets are committed although nothing has moved. A broker that lost a
	// topic or the group has also lost the commits. Without this, a process that reads them would find none before the
	// next message.
	commitAgainInterval = 30 * time.Second
	// lookupsAtOnce bounds the connections that a generation opens when it begins.
	lookupsAtOnce = 4
	// handlerGrace is the least time in which handlers may return, even if DrainTimeout is shorter.
	handlerGrace = time.Second
)

// generation is a member's part of the group between two rebalances. It reads its partitions, commits what is
// finished, and releases all of them in order.
type generation struct {
	client  *Client
	group   *Group
	kafka   *kafka.Generation
	shared  map[string]int // partitions by topic, if this member assigned them; otherwise nil
	lookups chan struct{}  // has a place for each lookup under way
	work    inFlight

	mu      sync.Mutex
	parts   map[Position]*partition // the current one of each topic and number; a key's Offset is zero
	resets  map[*partition]func()   // stop its reading; see onReset
	suspect map[*partition]bool     // its position was above the end of its log at the last check
}

func newGeneration(g *Group, kg *kafka.Generation, shared map[string]int) *generation {
	return &generation{
		client: g.client, group: g, kafka: kg, shared: shared,
		lookups: make(chan struct{}, lookupsAtOnce),
		parts:   make(map[Position]*partition),
		resets:  make(map[*partition]func()),
		suspect: make(map[*partition]bool),
	}
}

// run works until ended is done or a topic has new partitions, and returns when everything is released. The library
// ends the generation when a function that was started in it returns, so run must be the only one.
func (g *generation) run(ended context.Context) {
	g.client.metrics.began(g)
	defer g.client.metrics.ended(g)
	// The handlers' context does not end with the library's: work must be able to end in order, and with a cause that
	// callers know.
	ctx, revoke := context.WithCancelCause(context.WithoutCancel(ended))
	defer revoke(nil)

	given := g.assigned()
	var released func(context.Context)
	if assigned := g.group.cfg.Assigned; assigned != nil {
		released = assigned(ended, given)
	}
	var loops sync.WaitGroup
	for _, a := range given {
		loops.Go(func() { g.runPartition(ctx, a.Topic, a.Partition, a.Committed) })
	}
	more := make(chan struct{})
	loops.Go(func() { g.watch(ctx, more) })

	g.commitUntil(ended.Done(), more)
	revoke(ErrRevoked) // Before anything else: nothing new may begin.
	if inOrder := g.release(&loops); inOrder && released != nil {
		released(context.WithoutCancel(ended))
	}
}

// assigned returns the partitions of this generation.
func (g *generation) assigned() []Assignment {
	var out []Assignment
	for topic, partitions := range g.kafka.Assignments {
		for _, p := range partitions {
			// If nothing is committed, the library's offset is negative: it stands for the log's first one.
			committed := max(p.Offset, -1)
			out = append(out, Assignment{
				Topic: topic, Partition: p.ID, Committed: committed, Reach: max(committed, 0) + int64(g.group.cfg.Span),
			})
		}
	}
	return out
}

// commitUntil commits finished offsets each CommitInterval, and all of them again each commitAgainInterval. It returns
// when ended or more is closed.
func (g *generation) commitUntil(ended, more <-chan struct{}) {
	ticker := time.NewTicker(g.client.cfg.CommitInterval)
	defer ticker.Stop()
	again := time.NewTicker(commitAgainInterval)
	defer again.Stop()
	for {
		select {
		case <-ended:
			return
		case <-more:
			return
		case <-again.C:
			for _, p := range g.held() { // The next commit includes all of them.
				p.wasCommitted(-1)
			}
		case <-ticker.C:
			g.commit()
		}
	}
}

// release ends the generation while the broker still accepts its commits. First it commits the finished offsets, so
// that no slow work can delay that. Then it waits up to DrainTimeout for the work in flight, and commits that too.
// After this function the broker refuses commits of this generation. inOrder is whether all work has ended.
func (g *generation) release(loops *sync.WaitGroup) (inOrder bool) {
	// The times begin before the first commit: the session's time runs too while that commit is slow.
	drain := time.NewTimer(g.client.cfg.DrainTimeout)
	defer drain.Stop()
	handlers := time.NewTimer(max(g.client.cfg.DrainTimeout, handlerGrace))
	defer handlers.Stop()
	g.commit()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loops.Wait()
	}()
	select {
	case <-stopped: // No handler runs any longer, so no new work starts.
	case <-handlers.C:
		g.client.logger.Error("a handler did not return when its partition was revoked", "group", g.group.cfg.Group)
		g.commit()
		return false
	}
	left := g.work.wait(drain.C)
	if left > 0 {
		g.client.metrics.drainLeft.WithLabelValues(g.group.cfg.Group).Add(float64(left))
		g.client.logger.Warn("work was unfinished at the end of the drain: its next owner repeats it",
			"group", g.group.cfg.Group, "messages", left, "drain_timeout", g.client.cfg.DrainTimeout)
	}
	g.commit()
	return left == 0
}

// commit commits the offsets that differ from the committed ones, in one request. Only the goroutine of run may call
// it: of two concurrent commits the older could arrive last and move an offset back.
func (g *generation) commit() {
	offsets := make(map[string]map[int]int64)
	moved := make(map[*partition]int64)
	for _, p := range g.held() {
		offset, ok := p.toCommit()
		if !ok {
			continue
		}
		if offsets[p.topic] == nil {
			offsets[p.topic] = make(map[int]int64)
		}
		offsets[p.topic][p.id] = offset
		moved[p] = offset
	}
	if len(moved) == 0 {
		return
	}
	group := g.group.cfg.Group
	if err := g.kafka.CommitOffsets(offsets); err != nil {
		g.client.metrics.commits.WithLabelValues(group, "failed").Inc()
		err = g.group.explain(err)
		g.client.troubles.note(committing(group), err)
		g.client.causes.Report(slog.LevelWarn, "commit/"+group, "offsets were not committed", err, "group", group)
		return
	}
	g.client.metrics.commits.WithLabelValues(group, "ok").Inc()
	g.client.troubles.clear(committing(group))
	g.client.causes.Clear("commit/" + group)
	for p, offset := range moved {
		p.wasCommitted(offset)
	}
}

// hold makes p the current partition of its topic and number, and returns p.
func (g *generation) hold(p *partition) *partition {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parts[Position{Topic: p.topic, Partition: p.id}] = p
	return p
}

func (g *generation) held() []*partition {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]*partition, 0, len(g.parts))
	for _, p := range g.parts {
		out = append(out, p)
	}
	return out
}

// onReset registers stop, which watchEnds calls when p's log was replaced. The returned function unregisters it.
func (g *generation) onReset(p *partition, stop func()) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.resets[p] = stop
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.resets, p)
	}
}

// watch observes what no message shows: the growth of logs while reading is held back, logs that were replaced under
// a reader, and new partitions. It closes more and returns when there are new partitions.
func (g *generation) watch(ctx context.Context, more chan<- struct{}) {
	place := "watch/" + g.group.cfg.Group
	for clock.Sleep(ctx, watchInterval) == nil {
		if err := g.watchEnds(ctx); err != nil && ctx.Err() == nil {
			g.group.fail(place, "look up the ends of partitions", err)
			continue
		}
		grown, err := g.grown(ctx)
		if err != nil {
			if ctx.Err() == nil {
				g.group.fail(place, "look up the number of partitions", err)
			}
			continue
		}
		g.group.recovered(place)
		if grown {
			g.client.logger.Info("topics have new partitions: the group assigns them", "group", g.group.cfg.Group)
			close(more)
			return
		}
	}
}

// watchEnds notes the ends of the held partitions' logs, and stops the reading of a partition whose log was replaced.
// It reads the positions before the ends, so only in another log can the position be above the end. Two such checks in
// a row are taken as proof.
func (g *generation) watchEnds(ctx context.Context) error {
	held := g.held()
	positions := make([]int64, len(held))
	bounds := make([]PartitionOffsets, len(held))
	for i, p := range held {
		positions[i] = p.position()
		bounds[i] = PartitionOffsets{Topic: p.topic, Partition: p.id}
	}
	if err := g.client.readBounds(ctx, bounds); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range held {
		p.sawEnd(bounds[i].End)
		stop := g.resets[p]
		switch {
		case positions[i] <= bounds[i].End || stop == nil:
			delete(g.suspect, p)
		case g.suspect[p]:
			delete(g.suspect, p)
			stop()
		default:
			g.suspect[p] = true
		}
	}
	return nil
}

// grown reports whether partitions exist that no member was given. Only the member that made the assignment can find
// out: the others do not know how many partitions were assigned.
func (g *generation) grown(ctx context.Context) (bool, error) {
	if g.shared == nil {
		return false, nil
	}
	layouts, err := g.client.layout(ctx, g.group.cfg.Topics)
	if err != nil {
		return false, err
	}
	for topic, layout := range layouts {
		if len(layout.leaders) > g.shared[topic] {
			return true, nil
		}
	}
	return false, nil
}
