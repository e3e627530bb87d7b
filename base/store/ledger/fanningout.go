package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// LaneName is a lane of a media platform.
type LaneName struct{ Media, Lane string }

// FanOutFilter chooses among the runs that are being fanned out.
type FanOutFilter struct {
	// Lanes are left out; with OnlyLanes, all others are.
	Lanes     []LaneName
	OnlyLanes bool
	// Paused work is left out. A run that is itself paused blocks no other run of its task.
	PausedRuns   []int64
	PausedTasks  []int64
	PausedMedias []string
}

// FanningOutRuns returns runs that are being fanned out, by id. Of each task it takes the oldest tick, for which the
// later ones wait, and all orders. It returns the oldest of both, up to limit ticks and limit orders. However many
// ticks of one task wait, they take only one place.
func (s RunRows) FanningOutRuns(ctx context.Context, f FanOutFilter, limit int) ([]Run, error) {
	if f.OnlyLanes && len(f.Lanes) == 0 {
		return nil, nil
	}
	ticks, err := s.heads(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	orders, err := f.orders(limit).read(ctx, s.Databases)
	if err != nil {
		return nil, err
	}
	runs := slices.Concat(ticks, orders)
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.ID, b.ID) })
	return runs, nil
}

// heads returns the oldest tick of each task that is not itself paused.
func (s RunRows) heads(ctx context.Context, f FanOutFilter, limit int) ([]Run, error) {
	runs, err := f.ticks(limit).read(ctx, s.Databases)
	if err != nil || len(f.PausedRuns) == 0 {
		return runs, err
	}
	var heads []Run
	for _, run := range runs {
		next := []Run{run}
		if slices.Contains(f.PausedRuns, run.ID) {
			if next, err = s.NextTick(ctx, run.TaskID, f.PausedRuns); err != nil {
				return nil, err
			}
		}
		heads = append(heads, next...)
	}
	return heads, nil
}

// NextTick returns the oldest tick of a task that is being fanned out and is not among the paused runs, if any.
func (s RunRows) NextTick(ctx context.Context, taskID int64, paused []int64) ([]Run, error) {
	return nextTick(taskID, paused).read(ctx, s.Databases)
}

func nextTick(taskID int64, paused []int64) *runQuery {
	var q runQuery
	q.add("WHERE state = ? AND kind = ? AND task_id = ?", string(task.RunFanningOut), RunOfTick, taskID)
	if len(paused) > 0 {
		q.add("AND id NOT IN ?", paused)
	}
	q.add("ORDER BY id LIMIT 1")
	return &q
}

// ticks selects the heads of the tasks' queues in one step of the index for each task, however long its queue. That
// depends on the form of the inner SELECT: the index's columns in GROUP BY and no other conditions. The filter is
// applied afterwards, so that a tick of a resting lane still blocks those behind it.
func (f FanOutFilter) ticks(limit int) *runQuery {
	var q runQuery
	q.add(
		"JOIN (SELECT MIN(id) AS head_id FROM run WHERE state = ? AND kind = ? GROUP BY state, kind, task_id) heads"+
			" ON head_id = id WHERE 1 = 1",
		string(task.RunFanningOut), RunOfTick)
	f.filter(&q)
	q.add("ORDER BY id LIMIT ?", limit)
	return &q
}

func (f FanOutFilter) orders(limit int) *runQuery {
	var q runQuery
	q.add("WHERE state = ? AND kind = ?", string(task.RunFanningOut), RunOfOrder)
	if len(f.PausedRuns) > 0 {
		q.add("AND id NOT IN ?", f.PausedRuns)
	}
	f.filter(&q)
	// The sum forces a sort of the few rows: by id alone MariaDB reads all runs in that order.
	q.add("ORDER BY id + 0 LIMIT ?", limit)
	return &q
}

// filter leaves out the paused tasks and platforms, and the lanes.
func (f FanOutFilter) filter(q *runQuery) {
	if len(f.PausedTasks) > 0 {
		q.add("AND task_id NOT IN ?", f.PausedTasks)
	}
	if len(f.PausedMedias) > 0 {
		q.add("AND media NOT IN ?", f.PausedMedias)
	}
	if len(f.Lanes) == 0 {
		return
	}
	each, args := make([]string, len(f.Lanes)), []any{}
	for i, l := range f.Lanes {
		each[i] = "media = ? AND lane = ?"
		args = append(args, l.Media, l.Lane)
	}
	not := "NOT "
	if f.OnlyLanes {
		not = ""
	}
	q.add("AND "+not+"("+strings.Join(each, " OR ")+")", args...)
}

// runQuery is the part of a SELECT of runs after "FROM run".
type runQuery struct {
	text []string
	args []any
}

func (q *runQuery) add(text string, args ...any) {
	q.text = append(q.text, text)
	q.args = append(q.args, args...)
}

func (q *runQuery) read(ctx context.Context, s *sqldb.Databases) ([]Run, error) {
	return ReadRuns(ctx, s, strings.Join(q.text, " "), q.args...)
}
