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

// What the ticks of a task do where an earlier run still has the same account and part open. It is judged for each
// account and part alone: one account that backs off holds up no other. An order by hand is done in any case: it asks
// for the figures as they are now.

const (
	// releaseInterval is how often queued subtasks are looked for that nobody made due.
	releaseInterval = 30 * time.Second
	// replaceAtOnce is how many subtasks are replaced in one transaction, which holds the leader's row.
	replaceAtOnce = 500
	// replaceTries is how often subtasks are looked at that change while they are being replaced.
	replaceTries = 5
)

// judgeOverlap decides what becomes of the parts that an earlier run has open. With skip they are left out. With queue
// one waits behind the newest of the open ones, and those after it are left out: the one that waits pulls later figures
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
		// Before the open ones: what is released in between counts as queued still, and not as something to wait for.
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
		f.note = cmp.Or(f.note, "left out what an earlier run still has open")
	}
	return nil
}

// replaceOlder ends what earlier runs of the task have open of the parts that are about to be sent, if the task says
// so. It comes after their rows are written: a crash then leaves nothing that has ended without something in its
// place. What is at work now may go on to its end; its outcome finds the row ended, and the newer pull's claim keeps
// its figures off.
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
	return fmt.Errorf("replace what earlier runs of %s have open: it changes again and again", f.run.TaskName)
}

// queuedRelease is the loop that finds subtasks which wait behind an earlier run's that have ended.
type queuedRelease struct {
	turns   turns
	store   queuedStore
	waiting clock.Clock
	logger  *slog.Logger
}

// queuedStore releases what waits behind what has ended.
type queuedStore interface {
	ReleaseQueued(ctx context.Context, now time.Time) (int, error)
}

// Run releases until ctx ends.
func (r *queuedRelease) Run(ctx context.Context) error {
	return r.turns.run(ctx, r.releaseQueued, every(releaseInterval))
}

// releaseQueued makes queued subtasks due that nobody made due when the one before them ended: a leader may have died
// right after it had queued them.
func (r *queuedRelease) releaseQueued(ctx context.Context) error {
	n, err := r.store.ReleaseQueued(ctx, r.waiting.Now())
	if n > 0 {
		r.logger.Info("queued subtasks were made due whose predecessors had ended unnoticed", "subtasks", n)
	}
	return err
}
