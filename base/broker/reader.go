package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

const (
	// readQueue is how many messages of a partition wait in memory: enough to read ahead of the handler, few enough that
	// a thousand partitions fit.
	readQueue    = 256
	readMaxBytes = 1 << 20
	// readMaxWait is how long an empty fetch waits at the broker. Closing a reader takes as long.
	readMaxWait = 500 * time.Millisecond
	// resetCheck is the time between two checks of a log that seems to end before what was read of it. A new leader may
	// not know its end at once.
	resetCheck  = time.Second
	lookupPause = time.Second
)

// errLogReset means that a partition's log ends before the offset that is read next: it was replaced.
var errLogReset = errors.New("log ends before the offset to read: it was replaced")

// runPartition reads a partition until ctx ends. It starts again when the log was replaced.
func (g *generation) runPartition(ctx context.Context, topic string, id int, committed int64) {
	p := g.openPartition(ctx, topic, id, committed)
	for p != nil {
		if err := g.readPartition(ctx, p); !errors.Is(err, errLogReset) {
			return
		}
		p = g.reopenPartition(ctx, p)
	}
}

// openPartition determines where reading begins. Committed is -1 if nothing is committed. It returns nil if ctx ends
// first.
func (g *generation) openPartition(ctx context.Context, topic string, id int, committed int64) *partition {
	bounds, reset := g.locate(ctx, topic, id, committed)
	if ctx.Err() != nil {
		return nil
	}
	next := committed
	switch {
	case committed < 0:
		next = bounds.Start // A group's first generation reads everything.
	case reset:
		next = g.resetTo(bounds, committed)
	case committed < bounds.Start:
		g.lost(topic, id, committed, bounds.Start)
		next = bounds.Start
	}
	return g.hold(newPartition(topic, id, next, committed, bounds.End, g.group.cfg.Span, &g.work))
}

// reopenPartition is called after a log seemed to be replaced. If it was, the partition starts again and drops the
// old log's messages that are in flight. If not, p continues: a new start would let the commits pass the messages
// that p has in flight.
func (g *generation) reopenPartition(ctx context.Context, p *partition) *partition {
	if clock.Sleep(ctx, resetCheck) != nil {
		return nil
	}
	position := p.position()
	bounds, reset := g.locate(ctx, p.topic, p.id, position)
	switch {
	case ctx.Err() != nil:
		return nil
	case !reset:
		return p
	}
	return g.hold(newPartition(p.topic, p.id, g.resetTo(bounds, position), position, bounds.End, g.group.cfg.Span,
		&g.work))
}

// locate reads the partition's bounds until it succeeds or ctx ends, and reports whether the log ends before offset
// and so must be another log than the one the offset comes from.
func (g *generation) locate(ctx context.Context, topic string, id int, offset int64) (bounds PartitionOffsets,
	reset bool) {
	place := g.place(topic, id)
	for suspect := false; ctx.Err() == nil; {
		bounds, err := g.lookup(ctx, topic, id)
		switch {
		case ctx.Err() != nil:
			return bounds, false
		case err != nil:
			g.group.fail(place, "look up where a partition begins and ends", err)
			_ = clock.Sleep(ctx, lookupPause)
			continue
		}
		g.group.recovered(place)
		if offset <= bounds.End || suspect {
			return bounds, offset > bounds.End
		}
		suspect = true
		_ = clock.Sleep(ctx, resetCheck)
	}
	return bounds, false
}

// resetTo logs that a log was replaced and returns where to begin in it.
func (g *generation) resetTo(bounds PartitionOffsets, position int64) int64 {
	g.client.metrics.resets.WithLabelValues(bounds.Topic).Inc()
	g.client.logger.Error("a partition's log was replaced: it is read from its start",
		"topic", bounds.Topic, "partition", bounds.Partition, "position", position, "log_start", bounds.Start, "log_end",
		bounds.End)
	return bounds.Start
}

// lookup reads a partition's bounds. Few are read at once, because every request opens connections.
func (g *generation) lookup(ctx context.Context, topic string, id int) (PartitionOffsets, error) {
	select {
	case g.lookups <- struct{}{}:
		defer func() { <-g.lookups }()
	case <-ctx.Done():
		return PartitionOffsets{}, ctx.Err()
	}
	out := []PartitionOffsets{{Topic: topic, Partition: id}}
	err := g.client.readBounds(ctx, out)
	return out[0], err
}

// lost logs messages that the log deleted before they were read.
func (g *generation) lost(topic string, id int, from, to int64) {
	g.client.metrics.lost.WithLabelValues(topic).Add(float64(to - from))
	g.client.logger.Error("unread messages were deleted: retention is shorter than the backlog",
		"topic", topic, "partition", id, "from_offset", from, "to_offset", to, "messages", to-from)
}

// readPartition passes the partition's messages to the handler until ctx ends or the log turns out to be a new one.
func (g *generation) readPartition(ctx context.Context, p *partition) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: g.client.cfg.Brokers, Dialer: g.client.dialer,
		Topic: p.topic, Partition: p.id,
		MinBytes: 1, MaxBytes: readMaxBytes, MaxWait: readMaxWait, QueueCapacity: readQueue,
		ReadLagInterval: -1, // The generation watches the lag.
		// Without this a reader behind the end of a new log waits silently until the log has grown past it.
		OffsetOutOfRangeError: true,
		ErrorLogger:           libraryLog{g.client.causes},
	})
	// Closing waits for the current fetch, so it must not delay the commits that follow.
	g.group.closers.Add(1)
	defer func() {
		go func() {
			defer g.group.closers.Done()
			_ = reader.Close()
		}()
	}()
	if err := reader.SetOffset(p.position()); err != nil {
		return fmt.Errorf("read partition %d of %s: %w", p.id, p.topic, err)
	}
	// The watch over the ends of logs stops only this reading, by the cause of its context.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer g.onReset(p, func() { stop(errLogReset) })()

	read := g.client.metrics.read.WithLabelValues(p.topic)
	place := g.place(p.topic, p.id)
	for {
		for p.full() {
			select {
			case <-p.room:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		m, err := reader.FetchMessage(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, kafka.OffsetOutOfRange):
			return errLogReset
		case errors.Is(err, io.EOF):
			return err // The reader is closed, which only the end of this function does.
		case err != nil:
			g.group.fail(place, "read a partition", err) // The reader continues automatically, with pauses.
			continue
		}
		g.group.recovered(place)
		fresh, missing := p.begin(m.Offset, m.HighWaterMark)
		if !fresh {
			continue
		}
		if missing > 0 {
			g.lost(p.topic, p.id, m.Offset-missing, m.Offset)
		}
		read.Inc()
		g.group.handler(ctx, newDelivery(p, m))
	}
}

func newDelivery(p *partition, m kafka.Message) *Delivery {
	d := &Delivery{partition: p, Message: Message{
		Topic: m.Topic, Key: m.Key, Value: m.Value,
		Partition: m.Partition, Offset: m.Offset, Time: m.Time.UTC(),
	}}
	if len(m.Headers) > 0 {
		d.Headers = make([]Header, len(m.Headers))
		for i, h := range m.Headers {
			d.Headers[i] = Header{Key: h.Key, Value: h.Value}
		}
	}
	return d
}

// place returns a partition's place in the record of causes.
func (g *generation) place(topic string, id int) string { return topic + "/" + strconv.Itoa(id) }
