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
	// startsMax is how often a partition may be started at one committed offset, without being handed back in order,
	// before its messages are worked on one by one.
	startsMax = 3
	// deathsMax is how often a process may end while it works on a message with care. The first time is no proof, as
	// messages of other partitions are under way, too; nor is the second, as processes are killed for other reasons.
	deathsMax = 3
	// namedMax is how many partitions a line of the log names.
	namedMax = 3
	// everybody is the weight of one that must go without others.
	everybody = 1 << 20
	// recordTimeout bounds each note. Work goes on without it: a message that ends its process is rarer than a
	// database that is slow.
	recordTimeout = 3 * time.Second
	// stopRecordTimeout is the same when partitions are handed back, as the group waits for it and its session runs out.
	stopRecordTimeout = time.Second
)

// given are the partitions of one lane that this consumer was given, and which of them are worked on with care: those
// that were started again and again at one offset, because something in there ends the process. Their messages are
// worked on one by one, each noted before it starts. One that was under way when its process ended is a suspect: it
// goes while no other partition's message goes that care is taken of, since all partitions of a process that ends look
// alike. What was started and never finished, time and again, is dead.
type given struct {
	c     *Consumer
	group string
	slots *slots

	mu    sync.Mutex                            // also guards what changes of the partitions
	parts map[broker.Position]*carefulPartition // by topic and partition; those with care alone
	held  []int                                 // all partitions given
}

// carefulPartition is a partition that is worked on one by one below an offset.
type carefulPartition struct {
	holder string // names this start of it among all
	// until is behind the last that a process that ended may have begun: of which those that waited for call limits may
	// be as many as had been read, but no more than the log has.
	until   int64
	over    bool  // it has come so far
	suspect int64 // was under way when a process ended; -1 when none was
	started int64 // noted as started and not finished; -1 when none is
}

func newGiven(c *Consumer, group string, s *slots) *given {
	return &given{c: c, group: group, slots: s}
}

// begin notes that work on partitions begins, before any of them is read, and returns what notes that they are handed
// back in order.
func (g *given) begin(ctx context.Context, list []broker.Assignment) (end func(context.Context)) {
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
	g.tellCareful(careful)
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

// withinLog lets care end where the logs end now, which may be far before what could have been read: what is written
// from here on was under way in no process that ended. Partitions in which nothing waits need none, else they would
// be looked at with care until messages came.
func (g *given) withinLog(ctx context.Context, careful []ledger.Assignment) []ledger.Assignment {
	if len(careful) == 0 {
		return nil
	}
	topic := careful[0].Topic // A lane has one.
	ends, err := g.c.kafka.ends(ctx, topic)
	if err != nil {
		g.c.causes.Report(slog.LevelWarn, "ends of logs", "cannot ask where logs end; care is taken of what comes later too",
			err, "topic", topic)
	} else {
		g.c.causes.Recovered("ends of logs", "it is known again where logs end")
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

// tellCareful logs one line for all partitions that care is taken of: a process that ends takes all of its own with it.
func (g *given) tellCareful(careful []ledger.Assignment) {
	if len(careful) == 0 {
		return
	}
	var first []string
	for _, p := range careful[:min(len(careful), namedMax)] {
		first = append(first, fmt.Sprintf("%s/%d: %d starts at offset %d, with care until %d", p.Topic, p.Partition, p.Starts,
			p.Committed, p.CarefulUntil))
	}
	g.c.log.Error("partitions were started again and again without getting on: their messages are worked on one by one",
		"group", g.group, "partitions", len(careful), "first", first)
}

// end notes that partitions that holder was given are handed back in order: whatever was under way has not ended the
// process.
func (g *given) end(ctx context.Context, holder string, list []broker.Assignment,
	parts map[broker.Position]*carefulPartition) {
	g.mu.Lock()
	stops := make([]ledger.Stop, len(list))
	for i, a := range list {
		stops[i] = ledger.Stop{Topic: a.Topic, Partition: a.Partition, Committed: a.Committed, CutOff: -1}
		if p := parts[broker.Position{Topic: a.Topic, Partition: a.Partition}]; p != nil {
			stops[i].CutOff = p.started
		}
	}
	clear(parts) // No message of theirs comes any more.
	g.held = nil
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stopRecordTimeout)
	defer cancel()
	g.noted(g.c.deps.Store.RecordStops(ctx, g.group, holder, stops))
}

func (g *given) noted(err error) {
	if err == nil {
		g.c.causes.Recovered("assignments", "what is worked on is noted again")
		return
	}
	g.c.causes.Report(slog.LevelWarn, "assignments", "cannot note what is worked on; work goes on without", err)
}

// careful returns the message as one that goes alone, or nil if it need not.
func (g *given) careful(m *broker.Message, message ending) *carefulMessage {
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
	return &carefulMessage{given: g, partition: p, topic: m.Topic, id: m.Partition, offset: m.Offset, message: message,
		ended: make(chan struct{})}
}

// partitions are those that this consumer has now.
func (g *given) partitions() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]int{}, g.held...)
}

// count is how many partitions are worked on with care.
func (g *given) count() (n int) {
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
	given     *given
	partition *carefulPartition
	topic     string
	id        int
	offset    int64
	message   ending
	serial    string // the key whose turn it must wait for; "" when it need not
	weight    int64  // taken of Consumer.care
	once      sync.Once
	ended     chan struct{}
}

var _ ending = (*carefulMessage)(nil)

// Done implements ending.
func (m *carefulMessage) Done() {
	m.given.mu.Lock()
	m.partition.started = -1
	if m.offset+1 >= m.partition.until {
		m.partition.over = true // Nothing may come after it for long.
	}
	m.given.mu.Unlock()
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
		m.given.c.care.Release(m.weight)
		close(m.ended)
	})
}

// wait returns when the message has ended, or ctx.
func (m *carefulMessage) wait(ctx context.Context) {
	select {
	case <-m.ended:
	case <-ctx.Done():
	}
}

// hold waits until the message may go beside the others that care is taken of; its end lets go. The end of ctx alone is
// an error.
func (m *carefulMessage) hold(ctx context.Context) error {
	g := m.given
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

// note writes down that the message's work is about to start, and returns how often that was written before without an
// end.
func (m *carefulMessage) note(ctx context.Context) (deaths int) {
	g := m.given
	g.mu.Lock()
	p := m.partition
	p.started = m.offset
	g.mu.Unlock()
	noting, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	times, err := g.c.deps.Store.RecordSuspect(noting, g.group, p.holder, m.topic, m.id, m.offset)
	g.noted(err)
	return max(times-1, 0)
}

// mayStart notes that the work on a message with care is about to start. If its process has ended each time that was
// done, the subtask is dead and mayStart returns false.
func (p *pool) mayStart(ctx context.Context, s subtask) bool {
	deaths := s.careful.note(ctx)
	if deaths < deathsMax {
		return true
	}
	p.c.metrics.killers.Inc()
	p.c.log.Error("a subtask ends the process that works on it; it has failed", "handler", s.Handler, "run_id", s.RunID,
		"account_id", s.AccountID, "part", s.Part, "topic", s.careful.topic, "partition", s.careful.id, "offset",
		s.careful.offset, "deaths", deaths)
	now := p.c.deps.Clock.Now()
	v := verdict{
		state: task.Failed, attempt: s.Attempt + 1, class: media.Bug,
		text: fmt.Sprintf("its process ended each of the %d times that it was worked on with care", deaths),
	}
	p.finish(ctx, v.outcome(s.Envelope, now), now, s.message)
	return false
}
