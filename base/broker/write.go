package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

const (
	// maxBatchBytes bounds a batch below the brokers' default message.max.bytes of 1,048,588, which counts the batch as
	// it is stored, with its header.
	maxBatchBytes = 1_000_000
	// recordOverhead is more than a record costs in addition to its key, value and headers, and more than a header costs
	// in addition to its key and value.
	recordOverhead = 64

	writePauseMin = 20 * time.Millisecond
	writePauseMax = time.Second
)

// Write sends messages and returns their positions in the order of msgs, after as many copies have them as min_insync
// requires. Messages of one partition keep their order. Write is synchronous and safe for concurrent use. Callers
// bound how many writes they have in flight.
//
// Failures that may pass (no leader, a lost connection, a slow broker) are retried until Config.WriteTimeout or ctx
// ends. A message whose answer was lost may already be stored, so a write can store messages twice, and returns only
// the last position. If any message has no position in the end, the error is a *WriteError that names it, and the
// positions of the others are returned with it.
//
// The positions are why this is not the library's Writer. That one batches the messages of all callers in its own
// queues, waits for more messages, and continues to send after a caller has returned. It also makes one request for
// each partition, where this makes one for each broker: a hundred messages over 24 partitions of one broker are 1
// request instead of 24.
func (c *Client) Write(ctx context.Context, msgs []Message) ([]Position, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	start := clock.Mark()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.WriteTimeout)
	defer cancel()

	w := newWrite(c, msgs)
	pause := writePauseMin
	for w.left() {
		progress := w.round(ctx)
		if !w.left() {
			break
		}
		if progress {
			pause = writePauseMin
			continue
		}
		if clock.Sleep(ctx, pause) != nil {
			break
		}
		c.transport.refresh()
		pause = min(2*pause, writePauseMax)
	}
	c.metrics.writeTime.Observe(clock.Since(start).Seconds())
	c.metrics.batchSize.Observe(float64(len(msgs)))
	return w.positions, w.finish(ctx)
}

// write is one call of Write.
type write struct {
	client    *Client
	msgs      []Message
	topics    []string
	positions []Position
	failed    []bool // permanently refused
	maybe     []bool // some try may have stored it
	err       error  // the first cause that kept a message from being written, or the last that may pass

	waiting []int    // messages without a partition yet
	queues  []*queue // messages with a partition
	byPlace map[Position]*queue
}

// queue holds the messages of one partition that are not written yet, in order.
type queue struct {
	place   Position
	waiting []int
	limit   int // how many may go in one batch
	leader  int32
	sent    []int // in the present round
}

func newWrite(c *Client, msgs []Message) *write {
	w := &write{
		client: c, msgs: msgs,
		positions: make([]Position, len(msgs)),
		failed:    make([]bool, len(msgs)),
		maybe:     make([]bool, len(msgs)),
		byPlace:   make(map[Position]*queue),
	}
	seen := make(map[string]bool, 1)
	for i := range msgs {
		w.positions[i] = Position{Topic: msgs[i].Topic, Partition: -1, Offset: -1}
		if size := msgs[i].size(); size > maxBatchBytes {
			w.refuse(i, fmt.Errorf("message of %d bytes for topic %s: %w", size, msgs[i].Topic, ErrTooLarge))
			continue
		}
		w.waiting = append(w.waiting, i)
		if !seen[msgs[i].Topic] {
			seen[msgs[i].Topic] = true
			w.topics = append(w.topics, msgs[i].Topic)
		}
	}
	return w
}

// size returns an upper bound of what the message takes in a batch.
func (m *Message) size() int {
	size := recordOverhead + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		size += recordOverhead + len(h.Key) + len(h.Value)
	}
	return size
}

func (w *write) refuse(i int, err error) {
	w.failed[i] = true
	if w.err == nil {
		w.err = err
	}
}

func (w *write) left() bool { return len(w.waiting) > 0 || len(w.queues) > 0 }

// round sends one batch of every partition that has waiting messages, all batches of a broker in one request, and
// reports whether anything was written or refused.
func (w *write) round(ctx context.Context) bool {
	layouts, err := w.client.layout(ctx, w.topics)
	if err != nil {
		for _, topic := range w.topics {
			w.trouble(ctx, writing(topic, anyPartition), err)
		}
		w.note(err)
		if !mayPass(err) {
			w.refuseAll(err)
			return true
		}
		return false
	}
	w.assign(ctx, layouts)

	byLeader := make(map[int32][]*queue)
	for _, q := range w.queues {
		layout := layouts[q.place.Topic]
		if q.place.Partition >= len(layout.leaders) || layout.leaders[q.place.Partition] < 0 {
			err := fmt.Errorf("partition %d of topic %s: %w", q.place.Partition, q.place.Topic, kafka.LeaderNotAvailable)
			w.trouble(ctx, writing(q.place.Topic, q.place.Partition), err)
			w.note(err)
			continue
		}
		q.leader = layout.leaders[q.place.Partition]
		q.sent = w.batch(q)
		byLeader[q.leader] = append(byLeader[q.leader], q)
	}

	var group sync.WaitGroup
	answers := make(chan produceAnswer, len(byLeader))
	for _, queues := range byLeader {
		group.Go(func() { answers <- w.produce(ctx, queues) })
	}
	group.Wait()
	close(answers)

	progress := false
	for answer := range answers {
		for i, q := range answer.queues {
			if w.settle(ctx, q, answer.results[i]) {
				progress = true
			}
		}
	}
	w.dropEmpty()
	return progress
}

// assign chooses the partitions of messages whose topic is known by now. A message keeps its partition, so that a
// repetition cannot overtake a later message of the same key.
func (w *write) assign(ctx context.Context, layouts map[string]topicLayout) {
	var unknown []int
	for _, i := range w.waiting {
		topic := w.msgs[i].Topic
		layout, ok := layouts[topic]
		if !ok {
			unknown = append(unknown, i)
			err := fmt.Errorf("topic %s: %w", topic, ErrUnknownTopic)
			w.trouble(ctx, writing(topic, anyPartition), err)
			w.note(err)
			continue
		}
		w.client.troubles.clear(writing(topic, anyPartition))
		place := Position{Topic: topic, Partition: choosePartition(w.msgs[i].Key, len(layout.leaders))}
		q := w.byPlace[place]
		if q == nil {
			q = &queue{place: place, limit: len(w.msgs)}
			w.byPlace[place] = q
			w.queues = append(w.queues, q)
		}
		w.positions[i].Partition = place.Partition
		q.waiting = append(q.waiting, i)
	}
	w.waiting = unknown
}

// batch returns the first messages of the queue that fit into one batch; at least one.
func (w *write) batch(q *queue) []int {
	n, bytes := 0, 0
	for _, i := range q.waiting {
		bytes += w.msgs[i].size()
		if n > 0 && (n >= q.limit || bytes > maxBatchBytes) {
			break
		}
		n++
	}
	return q.waiting[:n]
}

// settle applies the result of the batch that was sent, and reports whether it made progress.
func (w *write) settle(ctx context.Context, q *queue, result produceResult) bool {
	if result.err == nil {
		for n, i := range q.sent {
			if result.base >= 0 {
				w.positions[i].Offset = result.base + int64(n)
			}
		}
		w.client.troubles.clear(writing(q.place.Topic, q.place.Partition))
		w.client.metrics.written.WithLabelValues(q.place.Topic).Add(float64(len(q.sent)))
		q.waiting = q.waiting[len(q.sent):]
		return true
	}
	reason := w.client.explain(result.err, "Write", q.place.Topic, "")
	if !concernsMessage(result.err) {
		w.trouble(ctx, writing(q.place.Topic, q.place.Partition), reason)
	}
	err := fmt.Errorf("write to partition %d of topic %s: %w", q.place.Partition, q.place.Topic, reason)
	tooLarge := errors.Is(result.err, kafka.MessageSizeTooLarge) || errors.Is(result.err, kafka.RecordListTooLarge)
	switch {
	case tooLarge && len(q.sent) > 1:
		// The brokers' message.max.bytes is below its default: smaller batches may pass.
		q.limit = len(q.sent) / 2
		return true
	case tooLarge:
		w.refuse(q.sent[0], fmt.Errorf("%w: %w", err, ErrTooLarge))
		q.waiting = q.waiting[1:]
		return true
	case !mayPass(result.err):
		for _, i := range q.sent {
			w.refuse(i, err)
		}
		q.waiting = q.waiting[len(q.sent):]
		return true
	}
	if mayBeStored(result.err) {
		for _, i := range q.sent {
			w.maybe[i] = true
		}
	}
	w.note(err)
	return false
}

// note keeps an error that may pass, unless a message was permanently refused: that error is more useful.
func (w *write) note(err error) {
	for _, failed := range w.failed {
		if failed {
			return
		}
	}
	w.err = err
}

// trouble records a request's error for readiness, unless the caller cancelled it: that proves nothing about the
// cluster.
func (w *write) trouble(ctx context.Context, at place, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		w.client.troubles.note(at, err)
	}
}

func (w *write) refuseAll(err error) {
	for _, i := range w.waiting {
		w.refuse(i, err)
	}
	w.waiting = nil
	for _, q := range w.queues {
		for _, i := range q.waiting {
			w.refuse(i, err)
		}
		q.waiting = nil
	}
	w.dropEmpty()
}

func (w *write) dropEmpty() {
	kept := w.queues[:0]
	for _, q := range w.queues {
		if len(q.waiting) > 0 {
			kept = append(kept, q)
		} else {
			delete(w.byPlace, q.place)
		}
	}
	w.queues = kept
}

// finish returns the error that names the messages without a position, or nil.
func (w *write) finish(ctx context.Context) error {
	for _, i := range w.waiting {
		w.failed[i] = true
	}
	for _, q := range w.queues {
		for _, i := range q.waiting {
			w.failed[i] = true
		}
	}
	out := &WriteError{Err: w.err}
	for i, failed := range w.failed {
		switch {
		case !failed:
			continue
		case w.maybe[i]:
			out.Unknown = append(out.Unknown, i)
			w.client.metrics.writeErrors.WithLabelValues(w.msgs[i].Topic, "unknown").Inc()
		default:
			out.Failed = append(out.Failed, i)
			w.client.metrics.writeErrors.WithLabelValues(w.msgs[i].Topic, "failed").Inc()
		}
	}
	if len(out.Failed)+len(out.Unknown) == 0 {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if out.Err == nil {
			out.Err = cause
		} else if !errors.Is(out.Err, cause) {
			out.Err = fmt.Errorf("%w (stopped retrying: %w)", out.Err, cause)
		}
	}
	return out
}
