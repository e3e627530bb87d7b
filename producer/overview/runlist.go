package overview

import (
	"cmp"
	"slices"

	"adsync/base/store/overview"
	"adsync/base/task"
)

// runList reads the runs under way, and those that ended last.
type runList struct {
	*facts

	platforms []string
	glance    interface {
		RunsIn(state task.RunState, from int64, limit int) ([]overview.ListedRun, error)
		NewestRuns(limit int) ([]overview.ListedRun, error)
	}
}

func (l *runList) readRuns() error {
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		open, err := l.glance.RunsIn(state, 0, runsShown+1)
		if err != nil {
			return err
		}
		for i := range open {
			l.o.Open = append(l.o.Open, l.runOf(&open[i]))
		}
	}
	slices.SortFunc(l.o.Open, func(a, b Run) int { return cmp.Compare(b.ID, a.ID) })
	if l.o.OpenMore = len(l.o.Open) > runsShown; l.o.OpenMore {
		l.o.Open = l.o.Open[:runsShown]
	}
	newest, err := l.glance.NewestRuns(newestLooked)
	if err != nil {
		return err
	}
	for i := range newest {
		if r := &newest[i]; !r.State.Open() && slices.Contains(l.platforms, r.Media) {
			l.o.Ended = append(l.o.Ended, l.runOf(r))
		}
	}
	slices.SortStableFunc(l.o.Ended, func(a, b Run) int { return b.EndedAt.Compare(a.EndedAt) })
	l.o.Ended = l.o.Ended[:min(len(l.o.Ended), endedShown)]
	return nil
}

func (l *runList) runOf(r *overview.ListedRun) Run {
	run := Run{ID: r.ID, Task: r.Task, Media: r.Media, State: r.State, Total: r.Total, Ended: r.Ended, Failed: r.Failed, Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	end := r.EndedAt
	if end.IsZero() {
		end = l.o.At
	}
	if seconds := end.Sub(r.CreatedAt).Seconds(); seconds > 0 {
		run.PerSecond = float64(r.Ended) / seconds
	}
	return run
}
