package consumer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"adsync/base/broker"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media"
)

// subtask is a message that was understood, on its way through a pool.
type subtask struct {
	task.Envelope
	handler media.Handler
	params  json.RawMessage
	message ending
}

// take is called for each message, in the order of a partition, and waits until the pool has a slot for it: this is
// what holds reading back. When ctx ends the message is left to the partition's next owner.
func (p *pool) take(ctx context.Context, m *broker.Message, message ending) {
	e, keyed, err := readEnvelope(m)
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
		p.putOff(ctx, e, fmt.Sprintf("no handler %q in this consumer", e.Handler), message)
		return
	}
	if err := p.slots.acquire(ctx); err != nil {
		p.abandon(message)
		return
	}
	s := subtask{Envelope: e, handler: handler, message: message}
	if len(m.Value) > 0 {
		s.params = m.Value
	}
	p.start(func() { p.work(ctx, s) })
}

// refuse ends a message whose headers cannot be read. It must not hold up those behind it.
func (p *pool) refuse(ctx context.Context, m *broker.Message, e task.Envelope, keyed bool, err error, message ending) {
	log := p.c.log.With("topic", m.Topic, "partition", m.Partition, "offset", m.Offset, "err", err)
	switch {
	case !keyed:
		log.Error("a message cannot be read and names no subtask; it is skipped")
		p.c.metrics.end(p.name, endUnreadable)
		message.Done()
	case isForeign(err):
		p.putOff(ctx, e, err.Error(), message)
	default:
		log.Error("a message cannot be read; its subtask has failed", "run_id", e.RunID, "account_id", e.AccountID, "part", e.Part)
		v := verdict{state: task.Failed, attempt: e.Attempt, class: media.Bug, text: "its message cannot be read: " + err.Error()}
		now := p.c.deps.Clock.Now()
		p.finish(ctx, v.outcome(e, now), now, message)
	}
}

// putOff defers what a newer consumer will know: consumers are upgraded before producers, and an upgrade ends.
func (p *pool) putOff(ctx context.Context, e task.Envelope, why string, message ending) {
	now := p.c.deps.Clock.Now()
	p.finish(ctx, deferred(e, unknownWait, why, "", p.c.jitter).outcome(e, now), now, message)
}

// finish hands an outcome on to be written; began is when the work on it began.
func (p *pool) finish(ctx context.Context, o store.Outcome, began time.Time, message ending) {
	o.Media, o.Lane, o.Node = p.name.media, p.name.lane, p.c.deps.Node
	o.StartedAt, o.EndedAt = began, p.c.deps.Clock.Now()
	p.c.outcomes.add(ctx, finished{outcome: o, lane: p.name, message: message})
}

// skip ends a message that asks for nothing any more; what is the reason to count.
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
