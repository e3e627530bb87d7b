package producer

import (
	"strconv"

	"adsync/base/broker"
	"adsync/base/store"
	"adsync/base/task"
)

// message makes the message of one delivery of a subtask.
func (p *Producer) message(run *store.Run, key task.Key, delivery, attempt int) broker.Message {
	s := &run.Settings
	envelope := task.Envelope{
		Key:    key,
		TaskID: run.TaskID, TaskName: run.TaskName, Media: run.Media, Lane: s.Lane, Handler: run.Handler,
		Delivery: delivery, Attempt: attempt,
		PlannedAt: run.PlannedAt, Deadline: run.Deadline(), Timeout: s.Timeout, RetryMax: s.RetryMax, RetryBase: s.RetryBase,
		Concurrency: s.Concurrency, ExclusiveMax: s.ExclusiveMax,
		Confirmed: s.Order != nil && s.Order.Confirm, Spare: s.Order != nil && s.Order.Spare,
	}
	m := broker.Message{
		Topic: p.broker.TopicName(run.Media, s.Lane),
		// All work of an account meets in one partition; work of no account is spread by its part.
		Key:   []byte(key.Part),
		Value: s.Params,
	}
	if key.AccountID != 0 {
		m.Key = strconv.AppendInt(nil, key.AccountID, 10)
	}
	for _, h := range envelope.Headers() {
		m.Headers = append(m.Headers, broker.Header{Key: h[0], Value: []byte(h[1])})
	}
	return m
}
