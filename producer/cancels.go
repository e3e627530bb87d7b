package producer

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// cancels is the loop that ends cancelled work. Its passes may be slow.
type cancels struct {
	passes  passes
	store   cancelStore
	lease   lease.Lease
	waiting clock.Clock
	stops   *stopList
	logger  *slog.Logger

	ended map[int64]int // the number of subtasks that this leader has ended, by cancel
}

// cancelStore reads and ends the open subtasks of cancelled work.
type cancelStore interface {
	OpenOrdersUntil(ctx context.Context, runID int64) (int64, error)
	OpenSubtasksOf(ctx context.Context, runID int64, after task.Key, limit int) ([]ledger.OpenSubtask, error)
	OpenSubtasksOfAccount(ctx context.Context, runIDs []int64, accountID int64) ([]ledger.OpenSubtask, error)
	stopEnder
	outcomeWriter
}

// Run ends cancelled work until ctx ends.
func (c *cancels) Run(ctx context.Context) error {
	return c.passes.run(ctx, c.cancelOpen, every(stopInterval))
}

// cancelOpen is the slow pass: it ends the open subtasks of cancelled work, whether they wait in Kafka, for a retry,
// for quota or for a pause, and then the cancels that have been carried out. A subtask that finishes at the same
// moment keeps the state that was written first.
func (c *cancels) cancelOpen(ctx context.Context) error {
	var errs []error
	for _, stop := range c.stops.list().All() {
		if stop.Verb != task.Cancel {
			continue
		}
		done, err := c.cancelSubtasks(ctx, stop)
		if err == nil && done {
			err = c.store.EndStop(ctx, c.lease, stop.ID, c.waiting.Now())
			if err == nil {
				c.logger.Info("cancel completed", append(about(stop), "subtasks", c.ended[stop.ID])...)
				delete(c.ended, stop.ID)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cancelSubtasks ends the subtasks that it finds, and reports whether the cancel can affect no further ones.
func (c *cancels) cancelSubtasks(ctx context.Context, stop task.Stop) (done bool, err error) {
	// Orders are read before the runs: an order that becomes a run in between is then found as a run.
	orders, err := c.store.OpenOrdersUntil(ctx, stop.Through())
	if err != nil {
		return false, err
	}
	runs, err := c.store.RunsToCancel(ctx, stop)
	if err != nil {
		return false, err
	}
	if stop.Kind == task.StopAccount {
		done, err = c.cancelAccount(ctx, stop, runs)
	} else {
		done = len(runs) == 0
		for _, run := range runs {
			if run.CancelID == 0 {
				continue // It will be marked soon; an unmarked run could end with another state.
			}
			if err = c.cancelRun(ctx, stop, run); err != nil {
				break
			}
		}
	}
	lingered := !c.waiting.Now().Before(stop.OrderedAt.Add(cancelLinger))
	return done && lingered && orders == 0, err
}

func (c *cancels) cancelRun(ctx context.Context, stop task.Stop, run ledger.RunToCancel) error {
	for after := (task.Key{RunID: run.ID}); ; {
		open, err := c.store.OpenSubtasksOf(ctx, run.ID, after, cancelAtOnce)
		if err != nil || len(open) == 0 {
			return err
		}
		if err := c.cancelSome(ctx, stop, run.TaskID, open); err != nil {
			return err
		}
		after = open[len(open)-1].Key
	}
}

// cancelAccount ends the account's subtasks in all runs. A run that is still being fanned out may reach the account
// later.
func (c *cancels) cancelAccount(ctx context.Context, stop task.Stop, runs []ledger.RunToCancel) (done bool, err error) {
	done = true
	for len(runs) > 0 {
		table := ledger.LogTable(runs[0].ID)
		var some []int64
		for len(runs) > 0 && len(some) < cancelAtOnce && ledger.LogTable(runs[0].ID) == table {
			done = done && runs[0].State != task.RunFanningOut
			some = append(some, runs[0].ID)
			runs = runs[1:]
		}
		open, err := c.store.OpenSubtasksOfAccount(ctx, some, stop.TargetID())
		if err != nil {
			return false, err
		}
		for part := range slices.Chunk(open, cancelAtOnce) {
			done = false // The next pass checks that all of them were as read.
			if err := c.cancelSome(ctx, stop, 0, part); err != nil {
				return false, err
			}
		}
	}
	return done, nil
}

func (c *cancels) cancelSome(ctx context.Context, stop task.Stop, taskID int64, open []ledger.OpenSubtask) error {
	now := c.waiting.Now()
	outcomes := make([]ledger.Outcome, len(open))
	for i, o := range open {
		outcomes[i] = ledger.Outcome{
			Key: o.Key, TaskID: taskID, Delivery: o.Delivery, Attempt: o.Attempt,
			State: task.Cancelled, EndedAt: now, ErrorText: stop.Text(),
		}
	}
	stale, err := c.store.ApplyLeaderOutcomes(ctx, c.lease, outcomes)
	if err != nil {
		return err
	}
	c.ended[stop.ID] += len(open) - stale
	failpoint.Hit("producer.cancel.some_ended")
	return nil
}
