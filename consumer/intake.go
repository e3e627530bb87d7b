package consumer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

// subtask is a message that was understood, on its way through a pool.
type subtask struct {
	task.Envelope
	handler media.Handler
	params  json.RawMessage
	message ending
	careful *carefulMessage // set while the message is suspected of having ended its process
	leave   func()          // gives up what keeps others waiting; may be called twice
}

// take is called for each message, in the order of a partition, and waits until the pool has a slot for it: this is
// what holds reading back. When ctx ends the message is left to the partition's next owner.
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
		p.putOff(ctx, e, fmt.Sprintf("no handler %q in this consumer", e.Handler), message)
		return
	}
	s := subtask{Envelope: e, handler: handler, message: message, leave: func() {}}
	if len(m.Value) > 0 {
		s.params = m.Value
	}
	if careful := p.given.careful(m, message); careful != nil {
		s.careful, s.message = careful, careful
		if e.Concurrency == task.Serial {
			careful.serial = serialKey(e)
		}
		// Before the turn, the floor and the slot: whoever waits for care keeps nobody from working.
		if err := careful.hold(ctx); err != nil {
			p.abandon(s.message)
			return
		}
		defer careful.wait(ctx)
	}
	switch e.Concurrency {
	case task.Serial:
		p.takeSerial(ctx, s)
	case task.Exclusive:
		p.takeExclusive(ctx, s)
	default:
		p.begin(ctx, s)
	}
}

// begin waits for a slot and works on the subtask.
func (p *pool) begin(ctx context.Context, s subtask) {
	if err := p.slots.acquire(ctx); err != nil {
		p.abandon(s.message)
		s.leave()
		return
	}
	p.start(ctx, s, p.slots.release)
}

// takeSerial works on the subtask when no other of its key is worked on. Until then it waits without a slot, and those
// behind it in its partition do not wait for it.
func (p *pool) takeSerial(ctx context.Context, s subtask) {
	key := p.name.media + ":" + serialKey(s.Envelope)
	s.leave = sync.OnceFunc(func() { p.c.turns.leave(key) })
	mine := p.c.turns.take(ctx, key, func() { p.begin(ctx, s) }, func() { p.abandon(s.message) })
	if mine {
		p.begin(ctx, s)
	}
}

// serialKey is what serial subtasks of a platform must share to go one at a time; messages are keyed alike.
func serialKey(e task.Envelope) string {
	if e.AccountID == 0 {
		return "part " + e.Part
	}
	return strconv.FormatInt(e.AccountID, 10)
}

// takeExclusive works on the subtask when nothing else of its lane is worked on.
func (p *pool) takeExclusive(ctx context.Context, s subtask) {
	// The row is asked first: a message that comes again must not hold up the lane for nothing.
	if !p.wanted(ctx, s) {
		return
	}
	leave, release, err := p.floor.enter(ctx, s.ExclusiveMax)
	if err != nil {
		p.abandon(s.message)
		return
	}
	s.leave = leave
	p.start(ctx, s, release)
}

// lock keeps serial subtasks of one key apart over processes, as far as that can be done in a short time. If another
// process works on the key, the subtask is deferred and lock returns false. It returns the subtask with what gives the
// key up again.
func (p *pool) lock(ctx context.Context, s subtask) (subtask, bool) {
	if s.Concurrency != task.Serial {
		return s, true
	}
	key := serialKey(s.Envelope)
	release, ok := p.c.claims.lock(ctx, p.name.media, key)
	if !ok {
		now := p.c.deps.Clock.Now()
		v := deferred(s.Envelope, serialWait, "another consumer works on "+key, "", p.c.jitter)
		p.finish(ctx, v.outcome(s.Envelope, now), now, s.message)
		return s, false
	}
	leave := s.leave
	s.leave = sync.OnceFunc(func() {
		release()
		leave()
	})
	return s, true
}

// refuse ends a message whose headers cannot be read. It must not hold up those behind it.
func (p *pool) refuse(ctx context.Context, m *broker.Message, e task.Envelope, keyed bool, err error, message ending) {
	switch {
	case !keyed:
		p.c.causes.Report(slog.LevelError, "unreadable/"+m.Topic,
			"a message cannot be read and names no subtask; it is skipped", telemetry.OneCause(err),
			"topic", m.Topic, "partition", m.Partition, "offset", m.Offset)
		p.c.metrics.end(p.name, endUnreadable)
		message.Done()
	case isForeign(err):
		p.putOff(ctx, e, err.Error(), message)
	default:
		p.c.causes.Report(slog.LevelError, "broken/"+m.Topic, "a message cannot be read; its subtask has failed",
			telemetry.OneCause(err),
			"topic", m.Topic, "partition", m.Partition, "offset", m.Offset, "run_id", e.RunID, "account_id", e.AccountID, "part",
			e.Part)
		v := verdict{state: task.Failed, attempt: e.Attempt, class: media.Bug, text: "its message cannot be read: " +
			err.Error()}
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
func (p *pool) finish(ctx context.Context, o ledger.Outcome, began time.Time, message ending) {
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
