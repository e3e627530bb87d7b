package producer

import (
	"context"
	"time"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer/tasklist"
)

const (
	roundInterval = time.Second
	answersPage   = 1000 // runs read at a time
)

// rounds plans the tasks that start after others.
type rounds struct {
	store    roundStore
	isPaused func(*tasklist.Task) bool

	tasks map[int64]*tasklist.Task
	// from is the run id below which each run of a predecessor has a successor's run that follows it, or needs none.
	from     map[pair]int64
	since    map[int64]int64 // the run id that a successor's first answer may have
	lookedAt time.Time       // by this process's clock
}

// roundStore reads what rounds need.
type roundStore interface {
	TasksWithOpenTicks(ctx context.Context, taskIDs []int64) (map[int64]bool, error)
	AnyUnanswered(ctx context.Context, successor, predecessor, from int64) (found bool, next int64, err error)
	Unanswered(ctx context.Context, successor, predecessor, from int64, limit int) ([]int64, error)
	LastTicks(ctx context.Context, taskID int64, limit int) ([]ledger.Tick, error)
}

type pair struct{ successor, predecessor int64 }

// sync takes the tasks from a list. Only runs that were made since the task has had its predecessors count; ids contain
// their time.
func (r *rounds) sync(list *tasklist.List, schedules map[int64]settings.TaskSchedule) {
	r.tasks, r.since = map[int64]*tasklist.Task{}, map[int64]int64{}
	from := map[pair]int64{}
	for id, tk := range list.Tasks {
		if !tk.Enabled || len(tk.Predecessors) == 0 {
			continue
		}
		r.tasks[id] = tk
		r.since[id] = task.FirstRunIDAt(schedules[id].Since)
		for _, predecessor := range tk.Predecessors {
			p := pair{id, predecessor}
			from[p] = max(r.from[p], r.since[id])
		}
	}
	r.from = from
	r.lookedAt = time.Time{}
}

// lower includes a tick's run that is made now, which may be older than those that were read.
func (r *rounds) lower(run *ledger.Run) {
	for p, from := range r.from {
		if p.predecessor == run.TaskID && run.ID < from && run.ID >= r.since[p.successor] {
			r.from[p] = run.ID
		}
	}
}

// plan calls makeRound for each task whose predecessors all have ended runs that no round has followed. The tick
// follows all of them. While its run is open there is no other, so that at most one round waits. No times are
// compared: the ledger records which runs a round follows.
func (r *rounds) plan(ctx context.Context, makeRound func(ctx context.Context, taskID int64,
	answers map[int64][]int64) error) error {
	if len(r.tasks) == 0 || (!r.lookedAt.IsZero() && clock.Since(r.lookedAt) < roundInterval) {
		return nil
	}
	var ids []int64
	for id, tk := range r.tasks {
		if !r.isPaused(tk) {
			ids = append(ids, id)
		}
	}
	open, err := r.store.TasksWithOpenTicks(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if open[id] {
			continue
		}
		answers, err := r.unanswered(ctx, r.tasks[id])
		if err != nil {
			return err
		}
		if answers == nil {
			continue
		}
		if err := makeRound(ctx, id, answers); err != nil {
			return err
		}
	}
	r.lookedAt = clock.Mark()
	return nil
}

// unanswered returns all ended runs of each predecessor that no round has followed, or nil if a predecessor has none.
// That is the usual case, so it checks each for one run before it reads all runs of any.
func (r *rounds) unanswered(ctx context.Context, tk *tasklist.Task) (map[int64][]int64, error) {
	for _, predecessor := range tk.Predecessors {
		p := pair{tk.ID, predecessor}
		found, from, err := r.store.AnyUnanswered(ctx, tk.ID, predecessor, r.from[p])
		if err != nil {
			return nil, err
		}
		r.from[p] = from
		if !found {
			return nil, nil
		}
	}
	answers := map[int64][]int64{}
	for _, predecessor := range tk.Predecessors {
		var all []int64
		for from := r.from[pair{tk.ID, predecessor}]; ; {
			runs, err := r.store.Unanswered(ctx, tk.ID, predecessor, from, answersPage)
			if err != nil {
				return nil, err
			}
			all = append(all, runs...)
			if len(runs) < answersPage {
				break
			}
			from = runs[len(runs)-1] + 1
		}
		answers[predecessor] = all
	}
	return answers, nil
}
