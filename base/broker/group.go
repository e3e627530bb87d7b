package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/service"
)

const (
	// heartbeatInterval is also the longest time until a member notices that a rebalance began.
	heartbeatInterval = time.Second
	// groupTimeout bounds a request to the coordinator. Any failure ends the generation, so it is generous.
	groupTimeout = 10 * time.Second
	// joinPause is how long a member waits before it tries to join again after an error.
	joinPause = time.Second
	// stopGrace is what a stop may take in addition to the drain: to end the readers, commit and leave the group. It is
	// short, because service.StopTimeoutDefault includes it. Work mostly ends before the drain does and leaves more
	// time.
	stopGrace = 1500 * time.Millisecond
)

// GroupConfig defines what a member of a group reads.
type GroupConfig struct {
	Group  string   // members with one name share the partitions
	Topics []string // the same for all members of a group
	Span   int      // 0 means Config.Span

	// Assigned, if set, is called at the start of each generation, before any partition is read, with the partitions
	// that this member was given. Released may be nil. It is called when the partitions were released in order: work in
	// flight has ended, and what is finished is committed. It is not called if work outlasted the drain, which leaves no
	// time, or if the member dies. Both delay the group: Assigned must be quick and end with ctx, and released must
	// return within a second.
	Assigned func(ctx context.Context, given []Assignment) (released func(ctx context.Context))
}

// Assignment is a partition that a member of a group was given.
type Assignment struct {
	Topic     string
	Partition int
	Committed int64 // the offset the group reads next; -1 when it has committed none
	Reach     int64 // a member that begins at Committed and finishes nothing reads only offsets below this
}

// Group is one member of a group of readers. It belongs to the group from Start to Stop.
type Group struct {
	client  *Client
	cfg     GroupConfig
	handler Handler

	mu      sync.Mutex
	state   groupState
	member  *kafka.ConsumerGroup
	shared  map[string]int // partitions by topic, set when this member assigns them
	loop    sync.WaitGroup
	closers sync.WaitGroup // readers that are being closed
}

type groupState int

const (
	groupNew groupState = iota
	groupStarted
	groupStopped
)

var _ service.Service = (*Group)(nil)

// NewGroup returns a member that passes messages to handler. It does nothing before Start.
func (c *Client) NewGroup(cfg GroupConfig, handler Handler) *Group {
	if cfg.Span == 0 {
		cfg.Span = c.cfg.Span
	}
	return &Group{client: c, cfg: cfg, handler: handler}
}

// Start checks that the topics exist (otherwise it returns ErrUnknownTopic) and begins to join the group. Ctx bounds
// only the check. Messages arrive when the group has assigned its partitions, which on a new cluster can take some
// seconds. Later failures are logged, counted and retried until Stop.
func (g *Group) Start(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.state {
	case groupStarted:
		return fmt.Errorf("start group %s: it is already started", g.cfg.Group)
	case groupStopped:
		return fmt.Errorf("start group %s: %w", g.cfg.Group, ErrStopped)
	}
	if err := g.topicsExist(ctx); err != nil {
		return fmt.Errorf("start group %s: %w", g.cfg.Group, err)
	}
	cfg := g.client.cfg
	var err error
	g.member, err = kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: g.cfg.Group, Brokers: cfg.Brokers, Dialer: g.client.dialer, Topics: g.cfg.Topics,
		GroupBalancers:    []kafka.GroupBalancer{sharingBalancer{group: g}},
		HeartbeatInterval: heartbeatInterval,
		SessionTimeout:    cfg.SessionTimeout,
		RebalanceTimeout:  cfg.RebalanceTimeout,
		JoinGroupBackoff:  joinPause,
		Timeout:           groupTimeout,
		StartOffset:       kafka.FirstOffset,
		// The library's own watch over partitions ends the generation at every error and, once a topic is deleted,
		// rebalances without a pause. generation.watch replaces it.
		WatchPartitionChanges: false,
		ErrorLogger:           libraryLog{g.client.causes},
	})
	if err != nil {
		return fmt.Errorf("start group %s: %w", g.cfg.Group, err)
	}
	g.state = groupStarted
	g.loop.Go(func() { g.run(g.member) })
	return nil
}

func (g *Group) topicsExist(ctx context.Context) error {
	g.client.transport.forget() // A topic may have been created a moment ago.
	layouts, err := g.client.layout(ctx, g.cfg.Topics)
	if err != nil {
		return err
	}
	for _, topic := range g.cfg.Topics {
		if _, ok := layouts[topic]; !ok {
			return fmt.Errorf("%s: %w", topic, ErrUnknownTopic)
		}
	}
	return nil
}

// run runs one generation after the other. It must request the next one without a pause, because the library blocks
// until it does.
func (g *Group) run(member *kafka.ConsumerGroup) {
	place := "group/" + g.cfg.Group
	for {
		next, err := member.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		// None of these is fatal: the library pauses and joins again.
		if errors.Is(err, kafka.RebalanceInProgress) {
			// Another member joined or left meanwhile, as happens when all start together.
			g.client.metrics.groupErrors.WithLabelValues(g.cfg.Group).Inc()
			g.client.logger.Debug("the group changed during the join; trying again", "group", g.cfg.Group)
			continue
		}
		if err != nil {
			g.fail(place, "join the group", err)
			continue
		}
		g.client.troubles.clear(g.reading(place))
		if g.client.causes.Clear(place) {
			g.client.logger.Info("joined the group again", "group", g.cfg.Group)
		}
		g.client.metrics.rebalances.WithLabelValues(g.cfg.Group).Inc()
		generation := newGeneration(g, next, g.takeShared())
		g.loop.Add(1)
		next.Start(func(ended context.Context) {
			defer g.loop.Done()
			generation.run(ended)
		})
	}
}

// Stop stops reading, lets work in flight finish for Config.DrainTimeout, commits, and leaves the group, so that the
// others take over at once. It returns when that is done or, if brokers do not answer, at most 1.5 s after the drain.
// It may be called twice and before Start.
func (g *Group) Stop() {
	g.mu.Lock()
	g.state = groupStopped
	started := g.member != nil
	g.mu.Unlock()
	if !started {
		return
	}
	left, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.member.Close()
		g.loop.Wait()
		close(left)
		g.closers.Wait()
	}()
	timer := time.NewTimer(g.client.cfg.DrainTimeout + stopGrace)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C:
	}
	select {
	case <-left:
		g.client.logger.Error("left the group, but some of its readers have not ended", "group", g.cfg.Group)
	default:
		g.client.logger.Error("left a group without an answer of Kafka: its partitions move later",
			"group", g.cfg.Group, "session_timeout", g.client.cfg.SessionTimeout)
	}
}

// fail counts an error that is retried and logs it, once per cause.
func (g *Group) fail(place, doing string, err error) {
	g.client.metrics.groupErrors.WithLabelValues(g.cfg.Group).Inc()
	err = g.explain(err)
	g.client.troubles.note(g.reading(place), err)
	g.client.causes.Report(slog.LevelWarn, place, "could not "+doing+"; trying again", err, "group", g.cfg.Group, "at",
		place)
}

// explain adds the remedy to an error of reading.
func (g *Group) explain(err error) error {
	return g.client.explain(err, "Read", strings.Join(g.cfg.Topics, ", "), g.cfg.Group)
}

// recovered records that what failed at a place works again.
func (g *Group) recovered(place string) {
	g.client.troubles.clear(g.reading(place))
	g.client.causes.Clear(place)
}

// reading returns the place of the group's reads for readiness.
func (g *Group) reading(at string) place {
	return place{doing: "reads of group " + g.cfg.Group, detail: at}
}

// takeShared returns how many partitions of each topic this member has assigned since the last call; nil if another
// member did.
func (g *Group) takeShared() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	shared := g.shared
	g.shared = nil
	return shared
}

// sharingBalancer assigns partitions in ranges and remembers their number. Later only this number shows for certain
// whether there are more now.
type sharingBalancer struct {
	kafka.RangeGroupBalancer
	group *Group
}

// AssignGroups implements kafka.GroupBalancer. The library calls it on the member that leads the group.
func (b sharingBalancer) AssignGroups(members []kafka.GroupMember,
	partitions []kafka.Partition) kafka.GroupMemberAssignments {
	shared := make(map[string]int)
	for _, p := range partitions {
		shared[p.Topic]++
	}
	b.group.mu.Lock()
	b.group.shared = maps.Clone(shared)
	b.group.mu.Unlock()
	return b.RangeGroupBalancer.AssignGroups(members, partitions)
}
