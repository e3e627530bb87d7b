package overview

import (
	"cmp"
	"slices"
	"strconv"

	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
)

// runList reads the open runs, and those that ended last.
type runList struct {
	*facts

	platforms []string
	glance    interface {
		RunsIn(state task.RunState, from int64, limit int) ([]overview.ListedRun, error)
		NewestRuns(limit int) ([]overview.ListedRun, error)
	}
}

func (l *runList) readRuns() error {
	var open []overview.ListedRun
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		some, err := l.glance.RunsIn(state, 0, runsShown+1)
		if err != nil {
			return err
		}
		open = append(open, some...)
	}
	slices.SortFunc(open, func(a, b overview.ListedRun) int { return cmp.Compare(b.ID, a.ID) })
	l.o.OpenMore = len(open) > runsShown
	for i := range open[:min(len(open), runsShown)] {
		l.o.Open = append(l.o.Open, l.runOf(&open[i]))
	}
	newest, err := l.glance.NewestRuns(newestRunsRead)
	if err != nil {
		return err
	}
	for i := range newest {
		if r := &newest[i]; !r.State.Open() && slices.Contains(l.platforms, r.Media) {
			l.o.Ended = append(l.o.Ended, l.runOf(r))
		}
	}
	slices.SortStableFunc(l.o.Ended, func(a, b client.RunOverview) int { return b.EndedAt.Compare(a.EndedAt) })
	l.o.Ended = l.o.Ended[:min(len(l.o.Ended), endedRunsShown)]
	return nil
}

func (l *runList) runOf(r *overview.ListedRun) client.RunOverview {
	run := client.RunOverview{
		ID: strconv.FormatInt(r.ID, 10), Task: r.Task, Media: r.Media, State: client.RunState(r.State), Total: r.Total,
		Ended: r.Ended, Failed: r.Failed, Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
	}
	end := r.EndedAt
	if end.IsZero() {
		end = l.o.At
	}
	if seconds := end.Sub(r.CreatedAt).Seconds(); seconds > 0 {
		run.PerSecond = float64(r.Ended) / seconds
	}
	return run
}
