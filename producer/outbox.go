package producer

import (
	"context"
	"errors"
	"strconv"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/trace"
	"adsync/producer/tasklist"
)

// outbox writes the messages of subtasks and creates missing topics.
type outbox struct {
	broker Broker
	tasks  *tasklist.Set
	tracer *trace.Tracer
	ready  onceEach[broker.Topic]
}

// ensureTopic creates the topic of a lane if it is missing, once for each topic.
func (o *outbox) ensureTopic(ctx context.Context, media, lane string) error {
	topic := broker.Topic{Name: o.broker.TopicName(media, lane), Partitions: o.tasks.Current().Partitions(media, lane)}
	return o.ready.do(topic, func() error { return o.broker.EnsureTopics(ctx, []broker.Topic{topic}) })
}

// writeOutcomes writes messages to the topic of outcomes, and creates it if it is missing.
func (o *outbox) writeOutcomes(ctx context.Context, messages []broker.Message) error {
	topic := broker.Topic{Name: o.broker.OutcomesTopic()}
	err := o.ready.do(topic, func() error { return o.broker.EnsureTopics(ctx, []broker.Topic{topic}) })
	if err == nil {
		_, err = o.write(ctx, messages)
	}
	return err
}

// write writes messages. After broker.ErrUnknownTopic it checks all topics again before the next write, because they
// may have been deleted.
func (o *outbox) write(ctx context.Context, messages []broker.Message) ([]broker.Position, error) {
	positions, err := o.broker.Write(ctx, messages)
	if errors.Is(err, broker.ErrUnknownTopic) {
		o.ready.forget()
	}
	return positions, err
}

// letter holds what the messages of a run have in common.
type letter struct {
	topic     string
	params    []byte
	serialKey string // as Envelope.SerialKey
	sealed    task.Sealed
}

func (o *outbox) letter(run *ledger.Run) letter {
	s := &run.Settings
	envelope := task.Envelope{
		TaskID: run.TaskID, TaskName: run.TaskName, Media: run.Media, Lane: s.Lane, Handler: run.Handler,
		PlannedAt: run.PlannedAt, Deadline: run.Deadline(), Timeout: s.Timeout, RetryMax: s.RetryMax, RetryBase: s.RetryBase,
		Concurrency: s.Concurrency, ExclusiveMax: s.ExclusiveMax,
		ExclusiveOver: s.ExclusiveOver, ExclusiveDrain: s.ExclusiveDrain,
		SerialKey: task.FillSerialKey(s.SerialKey, s.Params),
	}
	if s.Order != nil {
		envelope.Confirmed, envelope.Compare, envelope.Spare = s.Order.Confirm, s.Order.Compare, s.Order.Spare
		envelope.Ancestors = s.Order.Ancestors
	}
	return letter{topic: o.broker.TopicName(run.Media, s.Lane), params: s.Params, serialKey: envelope.SerialKey,
		sealed: envelope.Seal()}
}

// message makes the message of one delivery of a subtask. The caller ends the span, which is rarely sampled.
func (l letter) message(key task.Key, delivery, attempt int, span trace.Span) broker.Message {
	m := broker.Message{
		Topic: l.topic,
		// All work of an account goes to one partition, and so does all work of a serial key. Other work without an account
		// is spread by its part.
		Key:   []byte(key.Part),
		Value: l.params,
	}
	switch {
	case l.serialKey != "":
		m.Key = []byte(task.SerialKeyOf(l.serialKey, key))
	case key.AccountID != 0:
		m.Key = strconv.AppendInt(nil, key.AccountID, 10)
	}
	headers := l.sealed.Headers(key, delivery, attempt)
	m.Headers = make([]broker.Header, len(headers))
	for i, h := range headers {
		m.Headers[i] = broker.Header{Key: h.Name, Value: h.Value}
	}
	if span.On() {
		m.Headers = append(m.Headers, broker.Header{Key: task.TraceHeader, Value: []byte(span.Traceparent())})
	}
	return m
}

// traced begins the span of a message of a run, if the message is sampled.
func (o *outbox) traced(ctx context.Context, run *ledger.Run, key task.Key, delivery, attempt int) trace.Span {
	span := o.tracer.Send(ctx, run.Handler)
	if span.On() {
		span.Subtask(task.Envelope{
			Key: key, TaskName: run.TaskName, Media: run.Media, Lane: run.Settings.Lane, Delivery: delivery, Attempt: attempt,
		})
	}
	return span
}
