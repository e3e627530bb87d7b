package producer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/media"
	"adsync/producer/tasklist"
)

// markDead marks the dead subtasks that a run redrives, so that no other run redrives them too. It does so only before
// the cursor moves, because subtasks that are marked behind the cursor would not be made.
func (f *fanOut) markDead(ctx context.Context) error {
	order := f.run.Settings.Order
	if order == nil || order.Redrive == nil || f.run.Cursor != 0 {
		return nil
	}
	filter := order.Redrive.Filter
	// Whatever else the order's row says: the parts are this task's, and the work is that of the run's params.
	own := order.OwnParams()
	filter.TaskID, filter.OwnParams = f.run.TaskID, &own
	if err := f.loop.store.MarkDead(ctx, f.loop.lease, filter, f.run.ID); err != nil {
		return err
	}
	failpoint.Hit("producer.redrive.marked")
	return nil
}

// planRedrive plans the accounts and parts of the dead subtasks unchanged. Like any fan-out it leaves out accounts that
// are parked or no longer exist.
func (f *fanOut) planRedrive(ctx context.Context) (batch, error) {
	run := f.run
	if f.handler.Target != media.Accounts {
		// All of them have account 0. A limit of 0 means only this account.
		parts, _, _, err := f.loop.store.MarkedParts(ctx, run.ID, -1, 0)
		parts = slices.DeleteFunc(parts, func(p ledger.AccountPart) bool { return p.AccountID != 0 })
		return f.rest(f.anyDead(parts)), err
	}
	parts, through, last, err := f.loop.store.MarkedParts(ctx, run.ID, run.Cursor, f.batch)
	if err != nil {
		return batch{}, err
	}
	if parts, err = f.withoutParked(ctx, parts); err != nil {
		return batch{}, err
	}
	if last {
		return f.rest(f.anyDead(parts)), nil
	}
	return f.until(parts, through), nil
}

// anyDead notes in the run that it had no dead subtask, if its first and last batch is empty.
func (f *fanOut) anyDead(parts []ledger.AccountPart) []ledger.AccountPart {
	if len(parts) == 0 && f.run.Cursor == 0 {
		f.note = cmp.Or(f.note, "no dead subtask was left to redrive")
	}
	return parts
}

func (f *fanOut) withoutParked(ctx context.Context, parts []ledger.AccountPart) ([]ledger.AccountPart, error) {
	var ids []int64
	for _, p := range parts { // by account
		if len(ids) == 0 || ids[len(ids)-1] != p.AccountID {
			ids = append(ids, p.AccountID)
		}
	}
	accounts, err := f.loop.store.FanOutAccountsOf(ctx, f.run.Media, ids)
	if err != nil {
		return nil, err
	}
	works := make(map[int64]bool, len(accounts))
	for _, a := range accounts {
		works[a.ID] = true
	}
	before := len(parts)
	parts = slices.DeleteFunc(parts, func(p ledger.AccountPart) bool { return !works[p.AccountID] })
	if len(parts) < before {
		f.note = cmp.Or(f.note, "left out accounts that are parked or no longer exist: their subtasks stay dead")
	}
	return parts, nil
}

// redrives is the loop that releases the dead subtasks whose redrive has ended.
type redrives struct {
	passes  passes
	store   redriveStore
	lease   lease.Lease
	tasks   *tasklist.Set
	metrics *metrics
}

// redriveStore reads and writes dead subtasks and their redrives.
type redriveStore interface {
	Redrives(ctx context.Context) ([]int64, error)
	Run(ctx context.Context, id int64) (ledger.Run, error)
	SettleRedrive(ctx context.Context, l lease.Lease, runID int64) error
	CountDeadByMedia(ctx context.Context) (map[string]int64, error)
}

// Run settles redrives until ctx ends.
func (r *redrives) Run(ctx context.Context) error {
	return r.passes.run(ctx, r.keepDead, every(upkeepInterval))
}

// keepDead settles redrives and counts dead subtasks.
func (r *redrives) keepDead(ctx context.Context) error {
	if err := r.settleRedrives(ctx); err != nil {
		return err
	}
	counts, err := r.store.CountDeadByMedia(ctx)
	if err != nil {
		return err
	}
	setByMedia(r.metrics.dead, counts, r.tasks.Current())
	return nil
}

// settleRedrives releases the dead subtasks of runs that have ended or no longer exist. It does not do so earlier: a
// subtask that a run has made may still be cancelled or expire, and then stays dead.
func (r *redrives) settleRedrives(ctx context.Context) error {
	runs, err := r.store.Redrives(ctx)
	if err != nil {
		return err
	}
	for _, id := range runs {
		run, err := r.store.Run(ctx, id)
		if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
			return err
		}
		if err == nil && run.State.Open() {
			continue
		}
		if err := r.store.SettleRedrive(ctx, r.lease, id); err != nil {
			return err
		}
	}
	return nil
}
