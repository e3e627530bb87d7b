package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/plural"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/base/timer"
	"adsync/base/trace"
)

const (
	dueAtOnce = 500
	// timerRounds bounds one pass over the timer, so that the scan gets its turn.
	timerRounds = 20
	// scanInterval is how often subtask_due itself is read while the timer answers: what the timer forgot, or was never
	// told, is late by no more than this.
	scanInterval = 5 * time.Second
	// placelessInterval is how often messages are looked for whose place in the log nobody recorded. There are none but
	// after a failure.
	placelessInterval = 10 * time.Second
	// sentAgainAfter is how long such a message is waited for. A leader that begins does not wait: the one before may have
	// ended between the row and the message.
	sentAgainAfter = 30 * time.Second
)

// duePump is what the pump remembers between its passes; nothing else reads it.
type duePump struct {
	// Readings of this process's clock; zero before the first time.
	scanned time.Time
	sought  time.Time // when messages without a place were looked for
}

// pumpDue sends subtasks again whose wait is over, until none is left: those that the timer tells, and, now and then or
// while it does not answer, those that the table has.
func (t *term) pumpDue(ctx context.Context) error {
	answers, err := t.pumpTimer(ctx)
	if answers && err == nil && !t.pump.scanned.IsZero() && clock.Since(t.pump.scanned) < scanInterval {
		return nil
	}
	return errors.Join(err, t.scanDue(ctx))
}

// pumpTimer sends what the timer tells and the rows confirm, and reports whether the timer answers.
func (t *term) pumpTimer(ctx context.Context) (answers bool, err error) {
	if t.timer == nil {
		return false, nil
	}
	for range timerRounds {
		now := t.waiting.Now()
		entries, err := t.timer.Due(ctx, now, dueAtOnce)
		if err != nil {
			return false, nil //nolint:nilerr // The timer has said so; the scan does its work.
		}
		if len(entries) == 0 {
			return true, nil
		}
		due, later, err := t.confirm(ctx, entries, now)
		if err != nil {
			return true, err
		}
		if err := t.sendDue(ctx, due, now); err != nil {
			return true, err // They stay in the timer: what was raised is not confirmed any more, the rest is tried again.
		}
		t.metrics.dueFound.WithLabelValues("timer").Add(float64(len(due)))
		if err := t.timer.Remove(ctx, entries); err != nil {
			return false, nil //nolint:nilerr // As above.
		}
		t.timer.Add(ctx, later)
	}
	return true, nil
}

// confirm looks up what the timer told. What is not due any more is left out, and what is due later comes back to be told
// to the timer again.
func (t *term) confirm(ctx context.Context, entries []timer.Entry, now time.Time) (due []store.Due, later []timer.Entry, err error) {
	keys := make([]task.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	rows, err := t.store.DueOf(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		row, found := rows[e.Key]
		switch {
		case !found || row.Delivery != e.Delivery || (row.State != task.Retrying && row.State != task.Deferred):
		case row.DueAt.After(now):
			later = append(later, timer.Entry{Key: e.Key, Delivery: e.Delivery, DueAt: row.DueAt})
		default:
			due = append(due, row)
		}
	}
	store.SortDue(due)
	return due, later, nil
}

// scanDue sends what the table says is due.
func (t *term) scanDue(ctx context.Context) error {
	begun := clock.Mark()
	var lost time.Time
	switch {
	case t.pump.sought.IsZero():
		lost = t.waiting.Now()
	case clock.Since(t.pump.sought) >= placelessInterval:
		lost = t.waiting.Now().Add(-sentAgainAfter)
	}
	for ctx.Err() == nil {
		now := t.waiting.Now()
		due, err := t.store.DueSubtasks(ctx, now, lost, dueAtOnce)
		if err != nil {
			return err
		}
		if !lost.IsZero() {
			t.pump.sought = begun
		}
		if err := t.sendDue(ctx, due, now); err != nil {
			return err
		}
		t.metrics.dueFound.WithLabelValues("scan").Add(float64(len(due)))
		if len(due) < dueAtOnce {
			t.pump.scanned = begun
			return nil
		}
	}
	return nil
}

// sendDue raises the delivery in the rows first: what is sent is what the rows then say, and an outcome of the delivery
// before is stale from here on.
func (t *term) sendDue(ctx context.Context, due []store.Due, now time.Time) error {
	if len(due) == 0 {
		return nil
	}
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
	failpoint.Hit("producer.due.raised")
	messages := make([]broker.Message, len(raised))
	var spans []trace.Span
	var topicErr error
	letters := map[int64]letter{}      // by run
	asked := map[store.LaneName]bool{} // once: a broker that is away takes its time to say so
	for i, d := range raised {
		run := runs[d.RunID]
		lane := store.LaneName{Media: run.Media, Lane: run.Settings.Lane}
		if !asked[lane] {
			asked[lane] = true
			if err := t.ensureTopic(work, lane.Media, lane.Lane); err != nil {
				topicErr = err // It may be there all the same; if not, the others must not suffer from it.
			}
		}
		l, written := letters[run.ID]
		if !written {
			l = t.letter(run)
			letters[run.ID] = l
		}
		span := t.traced(work, run, d.Key, d.Delivery, d.Attempt)
		if span.On() {
			spans = append(spans, span)
		}
		messages[i] = l.message(d.Key, d.Delivery, d.Attempt, span)
		t.brakes.sent(lane, 1)
	}
	positions, err := t.write(work, messages)
	for _, span := range spans {
		span.End(err)
	}
	// What was not written keeps its row without a place, and is sent again.
	sent := sentDue(raised, positions, err)
	for _, d := range sent {
		t.metrics.resent.WithLabelValues(string(waited[d.Key])).Inc()
	}
	if recordErr := t.store.RecordSent(work, sent); recordErr != nil {
		err = errors.Join(err, recordErr)
	}
	if err != nil {
		return fmt.Errorf("send %s again: %w", plural.Count(len(messages), "subtask", "subtasks"), errors.Join(err, topicErr))
	}
	return topicErr
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
		if i < len(positions) && !missing[i] && positions[i].Offset >= 0 {
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

// expireDue ends the subtasks whose time to live is over or whose run is gone, and returns the others.
func (t *term) expireDue(ctx context.Context, due []store.Due, runs map[int64]*store.Run, now time.Time) ([]store.Due, error) {
	var ended []store.Outcome
	var orphans []store.Due
	live := slices.DeleteFunc(slices.Clone(due), func(d store.Due) bool {
		run, ok := runs[d.RunID]
		if !ok {
			orphans = append(orphans, d)
			ended = append(ended, store.Outcome{
				Key: d.Key, Delivery: d.Delivery, Attempt: d.Attempt, State: task.Cancelled, EndedAt: now, ErrorText: "its run is gone",
			})
			return true
		}
		deadline := run.Deadline()
		if deadline.IsZero() || now.Before(deadline) {
			return false
		}
		ended = append(ended, store.Outcome{
			Key: d.Key, Media: run.Media, Lane: run.Settings.Lane, TaskID: run.TaskID,
			Delivery: d.Delivery, Attempt: d.Attempt, State: task.Expired, EndedAt: now,
		})
		return true
	})
	if len(ended) > 0 {
		if _, err := t.store.ApplyLeaderOutcomes(ctx, t.lease, ended); err != nil {
			return nil, err
		}
	}
	return live, t.dropOrphans(ctx, orphans)
}

// dropOrphans deletes what waits for a run that is not there. Its rows, if there are any still, have been ended; without
// this the same orphans would be read at each pass, and once there are enough of them nothing else.
func (t *term) dropOrphans(ctx context.Context, orphans []store.Due) error {
	if len(orphans) == 0 {
		return nil
	}
	if err := t.store.DropDue(ctx, t.lease, orphans); err != nil {
		return err
	}
	t.metrics.orphans.Add(float64(len(orphans)))
	t.logger.Warn("subtasks waited for a run that is gone; they are dropped", "subtasks", len(orphans), "run", orphans[0].RunID)
	return nil
}
