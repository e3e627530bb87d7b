package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

const (
	// startsMax is how often a partition may start at one committed offset, without an orderly release, before its
	// messages are worked on one by one.
	startsMax = 3
	// deathsMax is how often a process may end during a message's careful work before the subtask is dead. The first
	// time proves nothing, because messages of other partitions are under way too. Nor does the second, because
	// processes are also killed for other reasons.
	deathsMax = 3
	// namedMax is how many partitions a log line names.
	namedMax = 3
	// everybody is the weight of a message that must run alone.
	everybody = 1 << 20
	// recordTimeout bounds each write of an assignment. Work continues without the record: a message that ends its
	// process is rarer than a slow database.
	recordTimeout = 3 * time.Second
	// stopRecordTimeout bounds the write when partitions are released. It is shorter because the group waits for it and
	// its session can expire.
	stopRecordTimeout = time.Second
)

// assigned holds the partitions of one lane that this consumer owns, and which of them need care: those that started
// repeatedly at one offset, because one of their messages ends the process. Messages of such a partition are worked on
// one by one, each recorded before it starts. A message that was under way when its process ended is a suspect. It
// runs while no other careful message runs, because all partitions of a process that ended look alike. A message that
// was started deathsMax times and never finished is dead.
type assigned struct {
	c     *Consumer
	group string
	slots *slots

	mu    sync.Mutex                            // also guards the fields of the partitions
	parts map[broker.Position]*carefulPartition // by topic and partition; only those that need care
	held  []int                                 // all assigned partitions, ascending
}

// carefulPartition is a partition that is worked on one by one below an offset.
type carefulPartition struct {
	holder string // identifies this start among all starts
	// until is the offset after the last message that an ended process may have begun. Messages that waited for call
	// limits may be as many as had been read, but not more than the log holds.
	until   int64
	over    bool  // the partition has reached until
	suspect int64 // the offset under way when a process ended; -1 if none
	started int64 // the offset recorded as started and not finished; -1 if none
}

func newAssigned(c *Consumer, group string, s *slots) *assigned {
	return &assigned{c: c, group: group, slots: s}
}

// begin records that work on the partitions begins, before any of them is read. The returned function records their
// orderly release.
func (g *assigned) begin(ctx context.Context, list []broker.Assignment) (end func(context.Context)) {
	holder := g.c.claims.newClaim()
	starts := make([]ledger.Start, len(list))
	for i, a := range list {
		starts[i] = ledger.Start{Topic: a.Topic, Partition: a.Partition, Committed: a.Committed, Reach: a.Reach}
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	careful, err := g.c.deps.Store.RecordStarts(ctx, g.group, holder, startsMax, starts)
	g.noted(err)
	careful = g.withinLog(ctx, careful)
	parts := map[broker.Position]*carefulPartition{}
	for _, p := range careful {
		part := &carefulPartition{holder: holder, until: p.CarefulUntil, suspect: -1, started: -1}
		if p.SuspectStarts > 0 {
			part.suspect = p.SuspectOffset
		}
		parts[broker.Position{Topic: p.Topic, Partition: p.Partition}] = part
	}
	g.logCareful(careful)
	g.mu.Lock()
	g.parts = parts
	g.held = make([]int, len(list))
	for i, a := range list {
		g.held[i] = a.Partition
	}
	slices.Sort(g.held)
	g.mu.Unlock()
	return func(ctx context.Context) { g.end(ctx, holder, list, parts) }
}

// withinLog lowers CarefulUntil to the present end of each log: a message written later was under way in no process
// that ended. It drops partitions without waiting messages, which would otherwise stay careful until messages came.
func (g *assigned) withinLog(ctx context.Context, careful []ledger.Assignment) []ledger.Assignment {
	if len(careful) == 0 {
		return nil
	}
	topic := careful[0].Topic // A lane has one.
	ends, err := g.c.kafka.ends(ctx, topic)
	if err != nil {
		g.c.causes.Report(slog.LevelWarn, "ends of logs", "cannot read the ends of logs; newer messages get care too",
			err, "topic", topic)
	} else {
		g.c.causes.Recovered("ends of logs", "the ends of logs can be read again")
	}
	var waiting []ledger.Assignment
	for _, p := range careful {
		if end, known := ends[p.Partition]; known {
			p.CarefulUntil = min(p.CarefulUntil, end)
		}
		if p.CarefulUntil > max(p.Committed, 0) {
			waiting = append(waiting, p)
		}
	}
	return waiting
}

// logCareful logs one line for all careful partitions: a process that ends makes all of its partitions careful.
func (g *assigned) logCareful(careful []ledger.Assignment) {
	if len(careful) == 0 {
		return
	}
	var first []string
	for _, p := range careful[:min(len(careful), namedMax)] {
		first = append(first, fmt.Sprintf("%s/%d: %d starts at offset %d, careful until %d", p.Topic, p.Partition, p.Starts,
			p.Committed, p.CarefulUntil))
	}
	g.c.log.Error("partitions restart without progress: messages run one by one",
		"group", g.group, "partitions", len(careful), "first", first)
}

// end records the orderly release of holder's partitions: the messages under way have not ended the process.
func (g *assigned) end(ctx context.Context, holder string, list []broker.Assignment,
	parts map[broker.Position]*carefulPartition) {
	g.mu.Lock()
	stops := make([]ledger.Stop, len(list))
	for i, a := range list {
		stops[i] = ledger.Stop{Topic: a.Topic, Partition: a.Partition, Committed: a.Committed, CutOff: -1}
		if p := parts[broker.Position{Topic: a.Topic, Partition: a.Partition}]; p != nil {
			stops[i].CutOff = p.started
		}
	}
	clear(parts) // No more of their messages arrive.
	g.held = nil
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stopRecordTimeout)
	defer cancel()
	g.noted(g.c.deps.Store.RecordStops(ctx, g.group, holder, stops))
}

func (g *assigned) noted(err error) {
	if err == nil {
		g.c.causes.Recovered("assignments", "assignments are recorded again")
		return
	}
	g.c.causes.Report(slog.LevelWarn, "assignments", "cannot record assignments; work continues without", err)
}

// careful returns the message as one that runs alone in its partition, or nil if its partition needs no care.
func (g *assigned) careful(m *broker.Message, message ending) *carefulMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.parts[broker.Position{Topic: m.Topic, Partition: m.Partition}]
	if p == nil {
		return nil
	}
	if m.Offset >= p.until {
		p.over = true
		return nil
	}
	return &carefulMessage{assigned: g, partition: p, topic: m.Topic, id: m.Partition, offset: m.Offset, message: message,
		ended: make(chan struct{})}
}

// partitions returns the partitions that this consumer owns now, ascending. The slice belongs to the caller.
func (g *assigned) partitions() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]int{}, g.held...)
}

// count returns how many partitions need care.
func (g *assigned) count() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.parts {
		if !p.over {
			n++
		}
	}
	return n
}

// carefulMessage is a message that is worked on while no other of its partition is.
type carefulMessage struct {
	assigned  *assigned
	partition *carefulPartition
	topic     string
	id        int
	offset    int64
	message   ending
	serial    string // the serial key that it waits for; "" if none
	weight    int64  // its weight in Consumer.care
	once      sync.Once
	ended     chan struct{}
}

var _ ending = (*carefulMessage)(nil)

// Done implements ending.
func (m *carefulMessage) Done() {
	m.assigned.mu.Lock()
	m.partition.started = -1
	if m.offset+1 >= m.partition.until {
		m.partition.over = true // The next message may come much later.
	}
	m.assigned.mu.Unlock()
	m.message.Done()
	m.end()
}

// Abandon implements ending.
func (m *carefulMessage) Abandon() {
	m.message.Abandon()
	m.end()
}

func (m *carefulMessage) HoldsUp() bool { return m.message.HoldsUp() }

func (m *carefulMessage) end() {
	m.once.Do(func() {
		m.assigned.c.care.Release(m.weight)
		close(m.ended)
	})
}

// wait returns when the message or ctx has ended.
func (m *carefulMessage) wait(ctx context.Context) {
	select {
	case <-m.ended:
	case <-ctx.Done():
	}
}

// hold waits until the message may run next to the other careful messages. The message's end releases its share. Only
// the end of ctx is an error.
func (m *carefulMessage) hold(ctx context.Context) error {
	g := m.assigned
	g.mu.Lock()
	weight := int64(1)
	if m.partition.suspect == m.offset {
		weight = everybody
	}
	g.mu.Unlock()
	if err := g.c.care.Acquire(ctx, weight); err != nil {
		return err
	}
	m.weight = weight
	return nil
}

// recordStart records that the message's work is about to start. It returns how often that was recorded before without
// an end.
func (m *carefulMessage) recordStart(ctx context.Context) (deaths int) {
	g := m.assigned
	g.mu.Lock()
	p := m.partition
	p.started = m.offset
	g.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	times, err := g.c.deps.Store.RecordSuspect(limited, g.group, p.holder, m.topic, m.id, m.offset)
	g.noted(err)
	return max(times-1, 0)
}

// mayStart records that the work on a careful message is about to start. If its process has ended deathsMax times
// during that work, mayStart ends the subtask as dead and returns false.
func (p *pool) mayStart(ctx context.Context, s subtask) bool {
	deaths := s.careful.recordStart(ctx)
	if deaths < deathsMax {
		return true
	}
	p.c.metrics.killers.Inc()
	p.c.log.Error("a subtask ends its process and has failed", "handler", s.Handler, "run_id", s.RunID,
		"account_id", s.AccountID, "part", s.Part, "topic", s.careful.topic, "partition", s.careful.id, "offset",
		s.careful.offset, "deaths", deaths)
	now := p.c.deps.Clock.Now()
	v := verdict{
		state: task.Failed, attempt: s.Attempt + 1, class: media.Bug,
		text: fmt.Sprintf("its process ended each of the %d times that this subtask ran alone", deaths),
	}
	p.finish(ctx, v.outcome(s.Envelope, now), now, s.message)
	return false
}
