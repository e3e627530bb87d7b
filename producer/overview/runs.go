package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/plural"
	"adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
)

// runItems lists the runs that did not succeed.
type runItems struct {
	*facts

	glance interface {
		RunsIn(state task.RunState, from int64, limit int) ([]overview.ListedRun, error)
	}
}

// addFailed groups the runs of the last hour that did not succeed by media.
func (l *runItems) addFailed(context.Context) error {
	// In whole seconds, as the command takes it, so that it lists the same runs.
	since := l.o.Business.Add(-failedSince).UTC().Truncate(time.Second)
	from := task.FirstRunIDAt(since)
	byMedia := map[string][]overview.ListedRun{}
	for _, state := range []task.RunState{task.RunFailed, task.RunPartial, task.RunExpired} {
		runs, err := l.glance.RunsIn(state, from, failedRunsMax)
		if err != nil {
			return err
		}
		for i := range runs {
			byMedia[runs[i].Media] = append(byMedia[runs[i].Media], runs[i])
		}
	}
	for _, media := range slices.Sorted(maps.Keys(byMedia)) {
		runs := byMedia[media]
		slices.SortFunc(runs, func(a, b overview.ListedRun) int { return cmp.Compare(b.ID, a.ID) })
		var failed, expired, cancelled int64
		newest := ""
		byTask := map[string]int{}
		for i := range runs {
			failed, expired, cancelled = failed+runs[i].Failed, expired+runs[i].Expired, cancelled+runs[i].Cancelled
			newest = cmp.Or(newest, runs[i].Error)
			byTask[runs[i].Task]++
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(byTask)) {
			names = append(names, fmt.Sprintf("%s (%d)", name, byTask[name]))
		}
		cause := fmt.Sprintf("In runs of %s: %s.", few(names), unsuccessful(failed, expired, cancelled))
		if newest != "" {
			cause += " The newest error is: " + sentence(newest)
		}
		remedy, command := runsRemedy(runs, failed, since)
		l.add(item{Attention: client.Attention{Kind: "run", Severity: Warn, Media: media,
			Title: plural.Count(len(runs), "run", "runs") + " did not succeed within the last hour", Cause: cause,
			Since:   runs[len(runs)-1].EndedAt,
			AtLeast: len(runs) >= failedRunsMax, Remedy: remedy, Command: command}})
	}
	return nil
}

// runsRemedy returns the remedy for these runs of a platform, and the command that lists them. failed is the number of
// their subtasks that failed for good.
func runsRemedy(runs []overview.ListedRun, failed int64, since time.Time) (remedy, command string) {
	id := strconv.FormatInt(runs[0].ID, 10)
	switch {
	case len(runs) == 1 && failed > 0:
		return "What failed for good can be redriven: adsync runs rerun " + id + ".", "adsync dead list --run " + id
	case len(runs) == 1:
		return "The command shows what it did not do; it can be ordered again.", "adsync runs show " + id
	}
	remedy = "adsync runs show ID shows what a run did not do; it can be ordered again."
	if failed > 0 {
		remedy = "adsync dead list --run ID lists what failed for good in one of them, and adsync runs rerun ID redrives it."
	}
	states := map[string]bool{}
	for i := range runs {
		states[string(runs[i].State)] = true
	}
	return remedy, fmt.Sprintf("adsync runs list --media %s --state %s --since %s", runs[0].Media,
		strings.Join(slices.Sorted(maps.Keys(states)), ","), since.Format(time.RFC3339))
}

// unsuccessful returns a text with the numbers of subtasks that failed, expired or were cancelled.
func unsuccessful(failed, expired, cancelled int64) string {
	var parts []string
	for _, of := range []struct {
		n         int64
		one, many string
	}{
		{failed, "subtask failed", "subtasks failed"},
		{expired, "subtask expired", "subtasks expired"},
		{cancelled, "subtask was cancelled", "subtasks were cancelled"},
	} {
		if of.n > 0 {
			parts = append(parts, plural.Count(of.n, of.one, of.many))
		}
	}
	if len(parts) == 0 {
		return "they ended before they had subtasks"
	}
	return strings.Join(parts, ", ")
}
