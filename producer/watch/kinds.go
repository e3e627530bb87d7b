package watch

import (
	"context"
	"slices"

	"adsync/base/roster"
	"adsync/base/task"
)

// Consumers lists the live consumers.
type Consumers interface {
	List(ctx context.Context) ([]roster.Process, error)
}

// readUnserved counts the tasks whose work no live consumer does.
func (w *Watch) readUnserved(ctx context.Context, tasks []task.Task) (metrics, error) {
	var m metrics
	if w.Consumers == nil {
		return m, nil
	}
	alive, err := w.Consumers.List(ctx)
	if err != nil {
		return m, err
	}
	type work struct{ kind, media, lane string }
	unserved := map[work]int{}
	for _, t := range tasks {
		of := work{t.Handler, t.Media, t.Lane}
		served := slices.ContainsFunc(alive, func(p roster.Process) bool { return p.Serves(t.Handler, t.Media, t.Lane) })
		if served {
			unserved[of] += 0 // A series that is 0 shows that this is watched.
		} else {
			unserved[of]++
		}
	}
	for of, n := range unserved {
		m.gauge(unservedTasks, float64(n), of.kind, of.media, of.lane)
	}
	return m, nil
}
