package producer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// This file decides what a tick of a task does for an account and part that an earlier run still has open. Each account
// and part is decided separately, so that an account that backs off holds up no other. An order by hand is always done,
// because it asks for the present figures.

const (
	// releaseInterval is how often to search for queued subtasks that were never made due.
	releaseInterval = 30 * time.Second
	// replaceAtOnce is how many subtasks one transaction replaces; the transaction locks the leader's row.
	replaceAtOnce = 500
	// replaceTries is how often subtasks are read again that change during their replacement.
	replaceTries = 5
)

// judgeOverlap applies the task's policy to parts that an earlier run has open. With skip they are left out. With queue
// one waits behind the newest open one, and later ones are left out, because the waiting one will pull later figures
// anyway. With replace all are made, and the older ones end just before the new ones are sent: see replaceOlder.
func (f *fanOut) judgeOverlap(ctx context.Context, b *batch) error {
	policy := f.run.Settings.Overlap
	if f.run.Kind != ledger.RunOfTick || len(b.parts) == 0 || policy == task.OverlapReplace {
		return nil
	}
	runs, err := f.loop.store.OlderOpenRuns(ctx, f.run.TaskID, f.run.ID)
	if err != nil || len(runs) == 0 {
		return err
	}
	var queued map[ledger.AccountPart]bool
	if policy == task.OverlapQueue {
		// Queued ones are read before the open ones: one that is released in between then counts as queued.
		if queued, err = f.loop.store.QueuedSubtasks(ctx, runs, b.in); err != nil {
			return err
		}
	}
	open, err := f.loop.store.OpenSubtasks(ctx, runs, b.in)
	if err != nil {
		return err
	}
	left := 0
	b.parts = slices.DeleteFunc(b.parts, func(p ledger.AccountPart) bool {
		older := open[p]
		if len(older) == 0 {
			return false
		}
		if policy != task.OverlapQueue || queued[p] {
			left++
			return true
		}
		b.queued = append(b.queued, ledger.QueuedPart{AccountPart: p, Behind: older[len(older)-1].RunID})
		return true
	})
	if left > 0 {
		f.loop.metrics.skipped.WithLabelValues("overlap").Add(float64(left))
		f.note = cmp.Or(f.note, "left out subtasks that an earlier run still has open")
	}
	return nil
}

// replaceOlder ends the open subtasks of earlier runs for the parts that are about to be sent, if the task's policy
// is replace. It runs after the new rows are written, so that a crash leaves no ended subtask without a successor. A
// running subtask may continue to its end: its outcome finds the row ended, and the newer pull's claim rejects its
// figures.
func (f *fanOut) replaceOlder(ctx context.Context, b batch, parts []ledger.AccountPart) error {
	if f.run.Kind != ledger.RunOfTick || f.run.Settings.Overlap != task.OverlapReplace || len(parts) == 0 {
		return nil
	}
	for range replaceTries {
		runs, err := f.loop.store.OlderOpenRuns(ctx, f.run.TaskID, f.run.ID)
		if err != nil || len(runs) == 0 {
			return err
		}
		open, err := f.loop.store.OpenSubtasks(ctx, runs, b.in)
		if err != nil {
			return err
		}
		var older []ledger.Outcome
		for _, p := range parts {
			for _, o := range open[p] {
				older = append(older, ledger.Outcome{
					Key: o.Key, Delivery: o.Delivery, Attempt: o.Attempt, State: task.Superseded, EndedAt: f.loop.waiting.Now(),
					ErrorText: fmt.Sprintf("replaced by run %d", f.run.ID),
				})
			}
		}
		changed := 0 // meanwhile: answered, or sent again with another delivery
		for some := range slices.Chunk(older, replaceAtOnce) {
			stale, err := f.loop.store.ApplyLeaderOutcomes(ctx, f.loop.lease, some)
			if err != nil {
				return err
			}
			changed += stale
			f.loop.metrics.replaced.Add(float64(len(some) - stale))
		}
		if changed == 0 {
			return nil
		}
	}
	return fmt.Errorf("replace open subtasks of earlier runs of %s: they keep changing", f.run.TaskName)
}

// queuedRelease is the loop that finds subtasks that wait behind an earlier run's ended subtasks.
type queuedRelease struct {
	passes  passes
	store   queuedStore
	waiting clock.Clock
	logger  *slog.Logger
}

// queuedStore releases queued subtasks.
type queuedStore interface {
	ReleaseQueued(ctx context.Context, now time.Time) (int, error)
}

// Run releases queued subtasks until ctx ends.
func (r *queuedRelease) Run(ctx context.Context) error {
	return r.passes.run(ctx, r.releaseQueued, every(releaseInterval))
}

// releaseQueued makes queued subtasks due that were not made due when their predecessor ended, for example because a
// leader died right after it had queued them.
func (r *queuedRelease) releaseQueued(ctx context.Context) error {
	n, err := r.store.ReleaseQueued(ctx, r.waiting.Now())
	if n > 0 {
		r.logger.Info("released queued subtasks whose predecessors had ended", "subtasks", n)
	}
	return err
}
