package consumer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

// subtask is a parsed message on its way through a pool.
type subtask struct {
	task.Envelope
	handler   media.Handler
	params    json.RawMessage
	partition int // of the message
	message   ending
	careful   *carefulMessage // set if the message's partition needs care
	leave     func()          // gives up what keeps others waiting; may be called twice
	hold      *hold           // of its serial key or floor, in the database; nil if it has none
}

// take handles each message, in the order of its partition. It blocks until the pool has a slot, which slows reading
// down to the speed of the work. If ctx ends first, the message is left to the partition's next owner.
func (p *pool) take(ctx context.Context, m *broker.Message, message ending) {
	e, keyed, err := readEnvelope(&p.c.envelopes, m)
	if err != nil {
		p.refuse(ctx, m, e, keyed, err, message)
		return
	}
	if p.c.recent.has(sent{Key: e.Key, delivery: e.Delivery}) {
		p.skip(e, endRepeated, message)
		return
	}
	handler, known := p.c.deps.Registry.Get(e.Handler)
	if !known {
		p.deferToNewer(ctx, e, fmt.Sprintf("no handler %q in this consumer", e.Handler), message)
		return
	}
	s := subtask{Envelope: e, handler: handler, partition: m.Partition, message: message, leave: func() {}}
	if len(m.Value) > 0 {
		s.params = m.Value
	}
	if careful := p.assigned.careful(m, message); careful != nil {
		s.careful, s.message = careful, careful
		if e.Concurrency == task.Serial {
			careful.serial = serialKey(e)
		}
		// This comes before the serial key, the floor and the slot, so that a message that waits here blocks none of them.
		if err := careful.hold(ctx); err != nil {
			p.abandon(s.message)
			return
		}
		defer careful.wait(ctx)
	}
	p.dispatch(ctx, s)
}

// dispatch works on a subtask as its concurrency allows.
func (p *pool) dispatch(ctx context.Context, s subtask) {
	switch s.Concurrency {
	case task.Serial:
		p.takeSerial(ctx, s)
	case task.Exclusive:
		go p.exclusive(ctx, s)
	default:
		p.begin(ctx, s)
	}
}

// begin waits for a slot and works on the subtask. While an exclusive subtask forbids it, it waits without a slot and
// without its serial key, which the exclusive one may need.
func (p *pool) begin(ctx context.Context, s subtask) {
	if err := p.slots.acquire(ctx, s.partition); err != nil {
		p.abandon(s.message)
		s.leave()
		return
	}
	admitted, ok := p.c.floors.admit(s)
	if !ok {
		p.slots.release()
		s.leave()
		p.c.floors.park(ctx, p, s)
		return
	}
	p.start(ctx, admitted, p.slots.release)
}

// refuse ends a message whose headers cannot be read, so that it does not hold up later ones.
func (p *pool) refuse(ctx context.Context, m *broker.Message, e task.Envelope, keyed bool, err error, message ending) {
	switch {
	case !keyed:
		p.c.causes.Report(slog.LevelError, "unreadable/"+m.Topic,
			"a message is unreadable, names no subtask and is skipped", telemetry.OneCause(err),
			"topic", m.Topic, "partition", m.Partition, "offset", m.Offset)
		p.c.metrics.end(p.name, endUnreadable)
		message.Done()
	case isForeign(err):
		p.deferToNewer(ctx, e, err.Error(), message)
	default:
		p.c.causes.Report(slog.LevelError, "broken/"+m.Topic, "a message is unreadable; its subtask has failed",
			telemetry.OneCause(err),
			"topic", m.Topic, "partition", m.Partition, "offset", m.Offset, "run_id", e.RunID, "account_id", e.AccountID, "part",
			e.Part)
		v := verdict{state: task.Failed, attempt: e.Attempt, class: media.Bug, text: "its message cannot be read: " +
			err.Error()}
		now := p.c.deps.Clock.Now()
		p.finish(ctx, v.outcome(e, now), now, message)
	}
}

// deferToNewer defers a subtask that a newer consumer can do, for the duration of a rolling upgrade.
func (p *pool) deferToNewer(ctx context.Context, e task.Envelope, why string, message ending) {
	now := p.c.deps.Clock.Now()
	p.finish(ctx, deferred(e, unknownWait, why, "", p.c.jitter).outcome(e, now), now, message)
}

// finish queues an outcome to be written; began is when its work began.
func (p *pool) finish(ctx context.Context, o ledger.Outcome, began time.Time, message ending) {
	o.Media, o.Lane, o.Node = p.name.media, p.name.lane, p.c.deps.Node
	o.StartedAt, o.EndedAt = began, p.c.deps.Clock.Now()
	p.c.outcomes.add(ctx, finished{outcome: o, lane: p.name, message: message})
}

// skip ends a message that no longer asks for work; what is the reason that the metrics count.
func (p *pool) skip(e task.Envelope, what string, message ending) {
	p.c.recent.add(sent{Key: e.Key, delivery: e.Delivery})
	p.c.metrics.end(p.name, what)
	message.Done()
}

// abandon leaves a message to the next owner of its partition.
func (p *pool) abandon(message ending) {
	p.c.metrics.end(p.name, endAbandoned)
	message.Abandon()
}
