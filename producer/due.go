package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/store"
	"adsync/base/task"
)

const (
	dueAtOnce = 500
	// sentAgainAfter is how long a message whose place in the log nobody recorded is waited for. A leader that begins
	// does not wait: the one before may have ended between the row and the message.
	sentAgainAfter = 30 * time.Second
)

// pumpDue sends subtasks again whose wait is over, until none is left.
func (t *term) pumpDue(ctx context.Context) error {
	for ctx.Err() == nil {
		now := t.waiting.Now()
		lost := now.Add(-sentAgainAfter)
		if t.cycles == 0 {
			lost = now
		}
		due, err := t.store.DueSubtasks(ctx, now, lost, dueAtOnce)
		if err != nil {
			return err
		}
		if len(due) > 0 {
			if err := t.sendDue(ctx, due, now); err != nil {
				return err
			}
		}
		t.cycles++
		if len(due) < dueAtOnce {
			return nil
		}
	}
	return nil
}

// sendDue raises the delivery in the rows first: what is sent is what the rows then say, and an outcome of the delivery
// before is stale from here on.
func (t *term) sendDue(ctx context.Context, due []store.Due, now time.Time) error {
	runs, err := t.runsOf(ctx, due)
	if err != nil {
		return err
	}
	work, cancel := finishing(ctx)
	defer cancel()
	due, err = t.expireDue(work, due, runs, now)
	if err != nil || len(due) == 0 {
		return err
	}
	waited := make(map[task.Key]task.State, len(due))
	for _, d := range due {
		waited[d.Key] = d.State
	}
	raised, err := t.store.RaiseDue(work, t.lease, due, now)
	if err != nil || len(raised) == 0 {
		return err
	}
	messages := make([]broker.Message, len(raised))
	for i, d := range raised {
		run := runs[d.RunID]
		if err := t.ensureTopic(work, run.Media, run.Settings.Lane); err != nil {
			return err
		}
		messages[i] = t.message(run, d.Key, d.Delivery, d.Attempt)
	}
	positions, err := t.broker.Write(work, messages)
	// What was not written keeps its row without a place, and is sent again.
	sent := sentDue(raised, positions, err)
	for _, d := range sent {
		t.metrics.resent.WithLabelValues(string(waited[d.Key])).Inc()
	}
	if recordErr := t.store.RecordSent(work, sent); recordErr != nil {
		err = errors.Join(err, recordErr)
	}
	if err != nil {
		return fmt.Errorf("send %d subtasks again: %w", len(messages), err)
	}
	return nil
}

// sentDue pairs what was written with its place.
func sentDue(raised []store.Due, positions []broker.Position, err error) []store.SentDue {
	missing := map[int]bool{}
	if w, ok := errors.AsType[*broker.WriteError](err); ok {
		for _, i := range slices.Concat(w.Failed, w.Unknown) {
			missing[i] = true
		}
	} else if err != nil {
		return nil
	}
	var sent []store.SentDue
	for i, d := range raised {
		if i < len(positions) && !missing[i] {
			p := positions[i]
			sent = append(sent, store.SentDue{Key: d.Key, Delivery: d.Delivery, Topic: p.Topic, Partition: p.Partition, Offset: p.Offset})
		}
	}
	return sent
}

func (t *term) runsOf(ctx context.Context, due []store.Due) (map[int64]*store.Run, error) {
	var ids []int64
	for _, d := range due {
		if len(ids) == 0 || ids[len(ids)-1] != d.RunID { // due is sorted by key
			ids = append(ids, d.RunID)
		}
	}
	list, err := t.store.Runs(ctx, ids)
	if err != nil {
		return nil, err
	}
	runs := make(map[int64]*store.Run, len(list))
	for i := range list {
		runs[list[i].ID] = &list[i]
	}
	return runs, nil
}

// expireDue ends the subtasks whose time to live is over, and returns the others whose run is there.
func (t *term) expireDue(ctx context.Context, due []store.Due, runs map[int64]*store.Run, now time.Time) ([]store.Due, error) {
	var expired []store.Outcome
	live := slices.DeleteFunc(slices.Clone(due), func(d store.Due) bool {
		run, ok := runs[d.RunID]
		if !ok {
			return true
		}
		deadline := run.Deadline()
		if deadline.IsZero() || now.Before(deadline) {
			return false
		}
		expired = append(expired, store.Outcome{
			Key: d.Key, Media: run.Media, Lane: run.Settings.Lane, TaskID: run.TaskID,
			Delivery: d.Delivery, Attempt: d.Attempt, State: task.Expired, EndedAt: now,
		})
		return true
	})
	if len(expired) > 0 {
		if _, err := t.store.ApplyOutcomes(ctx, expired); err != nil {
			return nil, err
		}
	}
	return live, nil
}
