// Package runs orders runs of tasks by hand, waits for their end, and reports whether work is under way.
package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/engine"
	"adsync/producer"
	"adsync/upkeep"

	"adsync/simulator/world"
)

// Runs orders and watches the runs of one process.
type Runs struct {
	Store   *store.Store
	Plan    *producer.Producer
	Waiting clock.Clock  // of retries
	World   *world.Clock // of a simulated world inside this process, whose work may be cancelled; else nil
}

// pollInterval is how often the runs are read.
const pollInterval = 200 * time.Millisecond

// Order orders a task by hand at a moment, and returns the id of its run.
func (r *Runs) Order(ctx context.Context, taskID int64, request task.Order, at time.Time) (int64, error) {
	id := task.NewRunID(at)
	return id, r.Store.AddOrder(ctx, ledger.RunOrder{RunID: id, TaskID: taskID, Request: request, OrderedAt: at})
}

// Wait waits for the end of runs. It calls progress with them at each poll.
func (r *Runs) Wait(ctx context.Context, ids []int64, progress func([]ledger.Run)) ([]ledger.Run, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		runs, err := r.Store.Runs(ctx, ids)
		if err != nil {
			return nil, err
		}
		progress(runs)
		if len(runs) == len(ids) && !slices.ContainsFunc(runs, func(r ledger.Run) bool { return r.State.Open() }) {
			return runs, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// quietLooks is how many polls in a row without work count as rest: a tick that has just become due is not a run yet.
const quietLooks = 4

// Rest waits until no work is under way, for at most patience, and reports whether that happened.
func (r *Runs) Rest(ctx context.Context, patience time.Duration) (bool, error) {
	began, quiet := clock.Mark(), 0
	for {
		r.Plan.Wake()
		if err := clock.Sleep(ctx, pollInterval); err != nil {
			return false, err
		}
		open, err := r.underWay(ctx)
		switch {
		case err != nil:
			return false, err
		case open > 0:
			quiet = 0
		default:
			quiet++
		}
		if quiet == quietLooks {
			return true, nil
		}
		if clock.Since(began) > patience {
			return false, nil
		}
	}
}

// underWay returns how many runs are open or ordered. It leaves out a run whose open subtasks all wait for accounts
// that the platform has closed, because that may take days.
func (r *Runs) underWay(ctx context.Context) (open int64, err error) {
	waitedFor, err := r.Store.AccountsWaitedFor(ctx)
	if err != nil {
		return 0, err
	}
	parked, err := r.Store.StillParked(ctx, waitedFor)
	if err != nil {
		return 0, err
	}
	var closed []string
	for id := range parked {
		closed = append(closed, task.ParkedRef(id))
	}
	const query = "SELECT (SELECT COUNT(*) FROM run WHERE state IN ? AND" +
		" (total IS NULL OR total > succeeded + failed + expired + cancelled + superseded" +
		" + (SELECT COUNT(*) FROM subtask_due WHERE run_id = run.id AND waits_for IN ?)))" +
		" + (SELECT COUNT(*) FROM manual_order WHERE taken = 0)"
	states := []task.RunState{task.RunFanningOut, task.RunRunning}
	if err := r.Store.Data.Writer(ctx).Raw(query, states, closed).Row().Scan(&open); err != nil {
		return 0, fmt.Errorf("count the runs under way: %w", err)
	}
	return open, nil
}

const (
	// settleMax is how long work under way may take to end, and cancelMax how long its cancel may take.
	settleMax = 30 * time.Second
	cancelMax = time.Minute
)

// Settle waits for the end of work under way. It cancels what does not end in time, if the world is inside this
// process, and returns how many runs it cancelled.
func (r *Runs) Settle(ctx context.Context) (cancelled int64, err error) {
	rested, err := r.Rest(ctx, settleMax)
	if err != nil || rested || r.World == nil {
		return 0, err
	}
	if cancelled, err = r.underWay(ctx); err != nil || cancelled == 0 {
		return 0, err // The last of it has ended in this moment.
	}
	now := r.Waiting.Now()
	for _, media := range append(engine.PlatformNames(), upkeep.Name) {
		stop := task.Stop{
			ID: task.NewRunID(r.World.Now()), Verb: task.Cancel, Kind: task.StopMedia, Target: media, TargetName: media,
			Reason: "it is left over, and one round of all tasks follows", By: "standalone --once", OrderedAt: now,
		}
		if err := r.Store.AddStop(ctx, stop); err != nil {
			return cancelled, err
		}
	}
	if rested, err = r.Rest(ctx, cancelMax); err == nil && !rested {
		err = fmt.Errorf("work that is left over does not end within %s, though it was cancelled", cancelMax)
	}
	if err != nil {
		return cancelled, err
	}
	// A cancel also stops runs of its own millisecond. Moving the clock keeps later runs out of it.
	return cancelled, r.World.Set(r.World.Now().Add(time.Second))
}
