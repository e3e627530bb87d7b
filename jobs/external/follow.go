package external

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/failpoint"
	"adsync/base/store/jobstore"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
)

const (
	// lot is how many jobs are read at a time, and lots how many times in a pass.
	lot  = 500
	lots = 20
	// endedAgain is how soon an ended job is looked at again whose outcome the ledger does not have. It grows with the
	// time since the end, up to jobstore.OpenLook.
	endedAgain = 2 * time.Second
	// keptFor is how long an ended job stays known after its end at least: a handler that was paused meanwhile would
	// otherwise publish it again.
	keptFor = time.Minute
	// scanEvery is how often jobs are compared with the orders that stop work, while there are such orders.
	scanEvery = 2 * time.Second
	// passMax bounds a pass over one database.
	passMax = 20 * time.Second
)

// Subtasks are the rows of subtasks.
type Subtasks interface {
	// SubtaskStates returns the states of subtasks. One that is gone, or whose day is, is not in the result.
	SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]ledger.SubtaskStatus, error)
}

// Follower follows the jobs of subtasks, for the leader. All that it does may be repeated, also by two leaders at a
// time; its memory only saves work.
type Follower struct {
	subtasks Subtasks
	logger   *slog.Logger
	causes   *telemetry.CauseLog
	pools    []*pool
}

// pool is a database of jobs.
type pool struct {
	name  string
	store *jobstore.Store

	mu      sync.Mutex
	scanned time.Time // when jobs were last compared with the orders that stop work
	stopped bool      // whether there were such orders
}

// NewFollower returns a follower. It contacts nothing.
func NewFollower(stores map[string]*jobstore.Store, subtasks Subtasks, logger *slog.Logger) *Follower {
	f := &Follower{subtasks: subtasks, logger: logger, causes: telemetry.NewCauseLog(logger)}
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		f.pools = append(f.pools, &pool{name: name, store: stores[name], stopped: true})
	}
	return f
}

// Pass looks at the jobs that are due for it: it makes subtasks due whose jobs have ended, withdraws jobs whose
// subtasks have ended or are cancelled, holds those of paused subtasks, and forgets ended jobs whose outcome the ledger
// has. A database of jobs that does not answer is logged; the error is that of the ledger.
//
// stops are the orders that stop work, and now the time by which they hold.
func (f *Follower) Pass(ctx context.Context, stops *task.Stops, now time.Time,
	release func(ctx context.Context, refs map[task.Key]string) error) error {
	var group errgroup.Group
	for _, p := range f.pools {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, passMax)
			defer cancel()
			err := f.follow(ctx, p, func(s task.Subject) *task.Stop { return stops.Find(s, now) }, len(stops.All()) > 0,
				release)
			if of, ok := errors.AsType[*ledgerError](err); ok {
				return of.error
			}
			switch {
			case err == nil:
				f.causes.Recovered(p.name, "jobs of subtasks can be read again")
			case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
				f.causes.Report(slog.LevelError, p.name, "jobs of subtasks cannot be read; their subtasks wait", err,
					"pool", p.name)
			}
			return nil
		})
	}
	return group.Wait()
}

// ledgerError is an error that is not that of the database of jobs.
type ledgerError struct{ error }

// follow is a pass over one database. find returns the order that stops a subtask, of which there are any.
func (f *Follower) follow(ctx context.Context, p *pool, find func(task.Subject) *task.Stop, any bool,
	release func(ctx context.Context, refs map[task.Key]string) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := p.store.Now(ctx)
	if err != nil {
		return err
	}
	if err := p.applyStops(ctx, find, any, now); err != nil {
		return err
	}
	for range lots {
		due, err := p.store.WatchedDue(ctx, lot, now)
		if err != nil || len(due) == 0 {
			return err
		}
		states, err := f.subtasks.SubtaskStates(ctx, keysOf(due))
		if err != nil {
			return &ledgerError{err}
		}
		todo := judge(due, states, find, now)
		if len(todo.refs) > 0 {
			if err := release(ctx, todo.refs); err != nil {
				return &ledgerError{err}
			}
			failpoint.Hit("external.released")
		}
		if err := todo.apply(ctx, p.store, now); err != nil {
			return err
		}
		if len(due) < lot {
			break
		}
	}
	return nil
}

func keysOf(all []jobstore.Watched) []task.Key {
	keys := make([]task.Key, len(all))
	for i, w := range all {
		keys[i] = keyOf(w)
	}
	return keys
}

func keyOf(w jobstore.Watched) task.Key {
	return task.Key{RunID: w.RunID, AccountID: w.AccountID, Part: w.Part}
}

// todo is what is to be done with some jobs.
type todo struct {
	refs     map[task.Key]string // subtasks that are due if they wait for their jobs
	withdraw []jobstore.Key
	forget   []jobstore.Key
	later    map[time.Time][]jobstore.Watched // by when they are looked at next
}

// judge compares jobs with their subtasks. A subtask that is cancelled is left to the cancel: another delivery would
// take its withdrawn job for a failed attempt.
func judge(due []jobstore.Watched, states map[task.Key]ledger.SubtaskStatus, find func(task.Subject) *task.Stop,
	now time.Time) todo {
	t := todo{refs: map[task.Key]string{}, later: map[time.Time][]jobstore.Watched{}}
	again := func(w jobstore.Watched, at time.Time) {
		at = at.Truncate(time.Second) // So that few statements set them.
		t.later[at] = append(t.later[at], w)
	}
	for _, w := range due {
		state, known := states[keyOf(w)]
		over := !known || !state.State.Open() || state.Attempt > w.Attempt // The ledger needs this job no longer.
		since := now.Sub(w.EndedAt)
		switch {
		case w.End == jobstore.NotEnded && over:
			t.withdraw = append(t.withdraw, w.Key)
		case w.End == jobstore.NotEnded:
			again(w, now.Add(jobstore.OpenLook))
		case over && since >= keptFor:
			t.forget = append(t.forget, w.Key)
		case over:
			again(w, w.EndedAt.Add(keptFor+time.Second))
		case isCancelled(w, find):
			again(w, now.Add(endedAgain))
		default:
			t.refs[keyOf(w)] = task.JobRef(w.ID.String())
			again(w, now.Add(min(max(since, endedAgain), jobstore.OpenLook)))
		}
	}
	return t
}

// isCancelled reports whether an order cancels the subtask of a job.
func isCancelled(w jobstore.Watched, find func(task.Subject) *task.Stop) bool {
	stop := find(subjectOf(w))
	return stop != nil && stop.Verb == task.Cancel
}

func subjectOf(w jobstore.Watched) task.Subject {
	return task.Subject{RunID: w.RunID, TaskID: w.TaskID, AccountID: w.AccountID, Media: w.Media}
}

func (t todo) apply(ctx context.Context, store *jobstore.Store, now time.Time) error {
	if err := store.Withdraw(ctx, t.withdraw, "its subtask has ended", now); err != nil {
		return err
	}
	if err := store.Forget(ctx, t.forget); err != nil {
		return err
	}
	for _, at := range slices.SortedFunc(maps.Keys(t.later), time.Time.Compare) {
		if err := store.LookAgain(ctx, t.later[at], at); err != nil {
			return err
		}
	}
	return nil
}

// applyStops holds the jobs of paused subtasks, makes those ready again whose pause has ended, and withdraws those of
// cancelled ones.
func (p *pool) applyStops(ctx context.Context, find func(task.Subject) *task.Stop, any bool, now time.Time) error {
	if !any && !p.stopped || now.Sub(p.scanned) < scanEvery {
		return nil
	}
	after := jobstore.Key{Queue: -1 << 63}
	for {
		open, err := p.store.WatchedOpen(ctx, after, lot)
		if err != nil {
			return err
		}
		if err := p.stop(ctx, open, find, now); err != nil {
			return err
		}
		if len(open) < lot {
			p.scanned, p.stopped = now, any
			return nil
		}
		after = open[len(open)-1].Key
	}
}

// stop applies the orders to some open jobs.
func (p *pool) stop(ctx context.Context, open []jobstore.Watched, find func(task.Subject) *task.Stop,
	now time.Time) error {
	var hold, resume, withdraw []jobstore.Key
	reason := ""
	for _, w := range open {
		stop := find(subjectOf(w))
		switch {
		case stop != nil && stop.Verb == task.Cancel:
			withdraw, reason = append(withdraw, w.Key), stop.Text()
		case stop != nil && !w.Held:
			hold = append(hold, w.Key)
		case stop == nil && w.Held:
			resume = append(resume, w.Key)
		}
	}
	if len(hold) > 0 {
		if err := p.store.Hold(ctx, hold, true, now); err != nil {
			return err
		}
	}
	if len(resume) > 0 {
		if err := p.store.Hold(ctx, resume, false, now); err != nil {
			return err
		}
	}
	if len(withdraw) == 0 {
		return nil
	}
	return p.store.Withdraw(ctx, withdraw, reason, now)
}
