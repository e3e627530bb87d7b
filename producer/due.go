package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/timer"
	"adsync/base/trace"
	"adsync/producer/brake"
)

const (
	dueAtOnce = 500
	// timerRounds bounds one pass over the timer, so that the scan runs too.
	timerRounds = 20
	// scanInterval is how often subtask_due itself is read while the timer answers. Entries that the timer lacks are late
	// by at most this.
	scanInterval = 5 * time.Second
	// placelessInterval is how often to search for messages without a recorded place in the log. They exist only after a
	// failure.
	placelessInterval = 10 * time.Second
	// sentAgainAfter is how long such a message may take to get its place. A new leader does not wait: the last one may
	// have ended between the row and the message.
	sentAgainAfter = 30 * time.Second
)

// dueWork is the loop that sends subtasks again when their wait is over.
type dueWork struct {
	passes  passes
	store   dueStore
	lease   lease.Lease
	waiting clock.Clock
	timer   Timer // may be nil
	out     *outbox
	brakes  *brake.Brakes
	metrics *metrics
	logger  *slog.Logger

	// Times of this process's clock; zero before the first pass.
	scanned time.Time
	sought  time.Time // when messages without a place were looked for
}

// dueStore reads and writes waiting subtasks and their runs.
type dueStore interface {
	DueSubtasks(ctx context.Context, now, lost time.Time, limit int) ([]ledger.Due, error)
	DueOf(ctx context.Context, keys []task.Key) (map[task.Key]ledger.Due, error)
	NextDeliveries(ctx context.Context, l lease.Lease, due []ledger.Due, now time.Time) ([]ledger.Due, error)
	RecordSent(ctx context.Context, sent []ledger.SentDue) error
	DropDue(ctx context.Context, l lease.Lease, due []ledger.Due) error
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	outcomeWriter
}

// Run sends due subtasks until ctx ends.
func (w *dueWork) Run(ctx context.Context) error {
	return w.passes.run(ctx, w.pumpDue, every(dueInterval))
}

// pumpDue sends due subtasks until none is left: those from the timer, and, every scanInterval or while the timer
// does not answer, those from the table.
func (w *dueWork) pumpDue(ctx context.Context) error {
	answers, err := w.pumpTimer(ctx)
	if answers && err == nil && !w.scanned.IsZero() && clock.Since(w.scanned) < scanInterval {
		return nil
	}
	return errors.Join(err, w.scanDue(ctx))
}

// pumpTimer sends the timer's entries that the rows confirm, and reports whether the timer answers.
func (w *dueWork) pumpTimer(ctx context.Context) (answers bool, err error) {
	if w.timer == nil {
		return false, nil
	}
	for range timerRounds {
		now := w.waiting.Now()
		entries, err := w.timer.Due(ctx, now, dueAtOnce)
		if err != nil {
			return false, nil //nolint:nilerr // The timer has logged it; the scan does its work.
		}
		if len(entries) == 0 {
			return true, nil
		}
		due, later, err := w.confirm(ctx, entries, now)
		if err != nil {
			return true, err
		}
		if err := w.sendDue(ctx, due, now); err != nil {
			return true, err // They stay in the timer: raised ones are no longer confirmed, the rest is tried again.
		}
		w.metrics.dueFound.WithLabelValues("timer").Add(float64(len(due)))
		if err := w.timer.Remove(ctx, entries); err != nil {
			return false, nil //nolint:nilerr // As above.
		}
		w.timer.Add(ctx, later)
	}
	return true, nil
}

// confirm reads the rows of the timer's entries. It leaves out those that are no longer due, and returns those that are
// due later, to be stored in the timer again.
func (w *dueWork) confirm(ctx context.Context, entries []timer.Entry, now time.Time) (due []ledger.Due,
	later []timer.Entry, err error) {
	keys := make([]task.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	rows, err := w.store.DueOf(ctx, keys)
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
	ledger.SortDue(due)
	return due, later, nil
}

// scanDue sends the subtasks that are due by the table.
func (w *dueWork) scanDue(ctx context.Context) error {
	begun := clock.Mark()
	var lost time.Time
	switch {
	case w.sought.IsZero():
		lost = w.waiting.Now()
	case clock.Since(w.sought) >= placelessInterval:
		lost = w.waiting.Now().Add(-sentAgainAfter)
	}
	for ctx.Err() == nil {
		now := w.waiting.Now()
		due, err := w.store.DueSubtasks(ctx, now, lost, dueAtOnce)
		if err != nil {
			return err
		}
		if !lost.IsZero() {
			w.sought = begun
		}
		if err := w.sendDue(ctx, due, now); err != nil {
			return err
		}
		w.metrics.dueFound.WithLabelValues("scan").Add(float64(len(due)))
		if len(due) < dueAtOnce {
			w.scanned = begun
			return nil
		}
	}
	return nil
}

// sendDue first raises the delivery number in the rows and then sends the subtasks as the rows hold them. From then
// on, an outcome of an earlier delivery is stale.
func (w *dueWork) sendDue(ctx context.Context, due []ledger.Due, now time.Time) error {
	if len(due) == 0 {
		return nil
	}
	runs, err := w.runsOf(ctx, due)
	if err != nil {
		return err
	}
	work, cancel := finishing(ctx)
	defer cancel()
	due, err = w.expireDue(work, due, runs, now)
	if err != nil || len(due) == 0 {
		return err
	}
	waited := make(map[task.Key]task.State, len(due))
	for _, d := range due {
		waited[d.Key] = d.State
	}
	raised, err := w.store.NextDeliveries(work, w.lease, due, now)
	if err != nil || len(raised) == 0 {
		return err
	}
	failpoint.Hit("producer.due.raised")
	messages := make([]broker.Message, len(raised))
	var spans []trace.Span
	var topicErr error
	letters := map[int64]letter{}       // by run
	asked := map[ledger.LaneName]bool{} // once, because an unavailable broker answers slowly
	for i, d := range raised {
		run := runs[d.RunID]
		lane := ledger.LaneName{Media: run.Media, Lane: run.Settings.Lane}
		if !asked[lane] {
			asked[lane] = true
			if err := w.out.ensureTopic(work, lane.Media, lane.Lane); err != nil {
				topicErr = err // The topic may exist nevertheless; if not, the other topics are not affected.
			}
		}
		l, written := letters[run.ID]
		if !written {
			l = w.out.letter(run)
			letters[run.ID] = l
		}
		span := w.out.traced(work, run, d.Key, d.Delivery, d.Attempt)
		if span.On() {
			spans = append(spans, span)
		}
		messages[i] = l.message(d.Key, d.Delivery, d.Attempt, span)
		if d.Outside {
			messages[i].Headers = append(messages[i].Headers, broker.Header{Key: task.OutsideHeader, Value: []byte("1")})
		}
		w.brakes.Sent(lane, 1)
	}
	positions, err := w.out.write(work, messages)
	for _, span := range spans {
		span.End(err)
	}
	// A message that was not written leaves its row without a place, and is sent again.
	sent := sentDue(raised, positions, err)
	for _, d := range sent {
		w.metrics.resent.WithLabelValues(string(waited[d.Key])).Inc()
	}
	if recordErr := w.store.RecordSent(work, sent); recordErr != nil {
		err = errors.Join(err, recordErr)
	}
	if err != nil {
		return fmt.Errorf("send %s again: %w", plural.Count(len(messages), "subtask", "subtasks"), errors.Join(err, topicErr))
	}
	return topicErr
}

// sentDue pairs the written messages with their places.
func sentDue(raised []ledger.Due, positions []broker.Position, err error) []ledger.SentDue {
	missing := map[int]bool{}
	if failed, ok := errors.AsType[*broker.WriteError](err); ok {
		for _, i := range slices.Concat(failed.Failed, failed.Unknown) {
			missing[i] = true
		}
	} else if err != nil {
		return nil
	}
	var sent []ledger.SentDue
	for i, d := range raised {
		if i < len(positions) && !missing[i] && positions[i].Offset >= 0 {
			p := positions[i]
			sent = append(sent, ledger.SentDue{Key: d.Key, Delivery: d.Delivery, Topic: p.Topic, Partition: p.Partition,
				Offset: p.Offset})
		}
	}
	return sent
}

func (w *dueWork) runsOf(ctx context.Context, due []ledger.Due) (map[int64]*ledger.Run, error) {
	var ids []int64
	for _, d := range due {
		if len(ids) == 0 || ids[len(ids)-1] != d.RunID { // due is sorted by key
			ids = append(ids, d.RunID)
		}
	}
	list, err := w.store.Runs(ctx, ids)
	if err != nil {
		return nil, err
	}
	runs := make(map[int64]*ledger.Run, len(list))
	for i := range list {
		runs[list[i].ID] = &list[i]
	}
	return runs, nil
}

// expireDue ends the subtasks whose time to live is over or whose run no longer exists, and returns the others.
func (w *dueWork) expireDue(ctx context.Context, due []ledger.Due, runs map[int64]*ledger.Run,
	now time.Time) ([]ledger.Due, error) {
	var ended []ledger.Outcome
	var orphans []ledger.Due
	live := slices.DeleteFunc(slices.Clone(due), func(d ledger.Due) bool {
		run, ok := runs[d.RunID]
		if !ok {
			orphans = append(orphans, d)
			ended = append(ended, ledger.Outcome{
				Key: d.Key, Delivery: d.Delivery, Attempt: d.Attempt, State: task.Cancelled, EndedAt: now,
				ErrorText: "its run no longer exists",
			})
			return true
		}
		deadline := run.Deadline()
		if deadline.IsZero() || now.Before(deadline) {
			return false
		}
		ended = append(ended, ledger.Outcome{
			Key: d.Key, Media: run.Media, Lane: run.Settings.Lane, TaskID: run.TaskID,
			Delivery: d.Delivery, Attempt: d.Attempt, State: task.Expired, EndedAt: now,
		})
		return true
	})
	if len(ended) > 0 {
		if _, err := w.store.ApplyLeaderOutcomes(ctx, w.lease, ended); err != nil {
			return nil, err
		}
	}
	return live, w.dropOrphans(ctx, orphans)
}

// dropOrphans deletes waiting entries of runs that do not exist. Their rows, if any, have been ended. Otherwise each
// pass would read the same orphans, and a sufficient number of them would crowd out everything else.
func (w *dueWork) dropOrphans(ctx context.Context, orphans []ledger.Due) error {
	if len(orphans) == 0 {
		return nil
	}
	if err := w.store.DropDue(ctx, w.lease, orphans); err != nil {
		return err
	}
	w.metrics.orphans.Add(float64(len(orphans)))
	w.logger.Warn("dropped subtasks of a run that no longer exists", "subtasks", len(orphans), "run",
		orphans[0].RunID)
	return nil
}
