package producer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/task"
	"adsync/producer/tasklist"
)

// figures is the loop that has the figures of the tables read for metrics.
type figures struct {
	turns   turns
	watcher Watcher
	tasks   *tasklist.Set
	pace    pace
}

// Run reads until ctx ends.
func (f *figures) Run(ctx context.Context) error { return f.pace.run(ctx, f.turns, f.read) }

// read has the figures of the tables read for metrics.
func (f *figures) read(ctx context.Context) error {
	var tasks []task.Task
	for _, tk := range f.tasks.Current().Tasks {
		if tk.Enabled {
			tasks = append(tasks, tk.Task)
		}
	}
	slices.SortFunc(tasks, func(a, b task.Task) int { return cmp.Compare(a.ID, b.ID) })
	return f.watcher.Pass(ctx, tasks)
}

// holes is the loop that looks for what coverage lacks.
type holes struct {
	turns   turns
	watcher Watcher
	pace    pace
}

// Run looks until ctx ends.
func (h *holes) Run(ctx context.Context) error {
	return h.pace.run(ctx, h.turns, h.watcher.LookForHoles)
}

// pace has passes over the tables for metrics rest in proportion to how long the last one took.
type pace struct {
	interval time.Duration // the least rest
	times    int           // how many times as long as a pass it rests
	took     time.Duration // by the last pass
}

// longestRest is how many times the interval a rest is at the most. A database in trouble, in which a pass takes
// minutes, must not make figures older than that.
const longestRest = 6

func (p *pace) run(ctx context.Context, turns turns, pass func(context.Context) error) error {
	timed := func(ctx context.Context) error {
		began := clock.Mark()
		err := pass(ctx)
		p.took = clock.Since(began)
		return err
	}
	return turns.run(ctx, timed, func(ctx context.Context) { waitFor(ctx, p.rest(), nil) })
}

func (p *pace) rest() time.Duration {
	return min(max(p.interval, time.Duration(p.times)*p.took), longestRest*p.interval)
}
