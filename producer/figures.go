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

// figures is the loop that reads the figures of the tables for metrics.
type figures struct {
	passes  passes
	watcher Watcher
	tasks   *tasklist.Set
	pace    pace
}

// Run reads figures until ctx ends.
func (f *figures) Run(ctx context.Context) error { return f.pace.run(ctx, f.passes, f.read) }

// read reads the figures of the tables for metrics.
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

// holes is the loop that counts the holes of coverage.
type holes struct {
	passes  passes
	watcher Watcher
	pace    pace
}

// Run counts holes until ctx ends.
func (h *holes) Run(ctx context.Context) error {
	return h.pace.run(ctx, h.passes, h.watcher.LookForHoles)
}

// pace makes passes over the tables rest in proportion to the duration of the last one.
type pace struct {
	interval time.Duration // the least rest
	times    int           // the rest, in durations of the last pass
	took     time.Duration // the duration of the last pass
}

// longestRest bounds a rest, in intervals. It keeps figures fresh if a database in trouble makes passes take minutes.
const longestRest = 6

func (p *pace) run(ctx context.Context, loop passes, pass func(context.Context) error) error {
	timed := func(ctx context.Context) error {
		began := clock.Mark()
		err := pass(ctx)
		p.took = clock.Since(began)
		return err
	}
	return loop.run(ctx, timed, func(ctx context.Context) { waitFor(ctx, p.rest(), nil) })
}

func (p *pace) rest() time.Duration {
	return min(max(p.interval, time.Duration(p.times)*p.took), longestRest*p.interval)
}
