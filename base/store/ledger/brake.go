package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// LaneName names a lane of a media platform.
type LaneName struct{ Media, Lane string }

// FanOuts chooses among the runs that are being fanned out.
type FanOuts struct {
	// Lanes are left out; if OnlyLanes is set, all others are.
	Lanes     []LaneName
	OnlyLanes bool
	// What is paused is left out. A run that is paused by itself holds up no other of its task.
	PausedRuns   []int64
	PausedTasks  []int64
	PausedMedias []string
}

// FanningOutRuns returns runs that are being fanned out, by id: of each task the oldest tick, for the later ones wait for
// it, and all orders; of ticks and of orders the oldest, up to limit of each. However many ticks of a task wait, they take
// nobody's place.
func (s RunRows) FanningOutRuns(ctx context.Context, f FanOuts, limit int) ([]Run, error) {
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

// heads returns the oldest tick of each task that is not paused by itself.
func (s RunRows) heads(ctx context.Context, f FanOuts, limit int) ([]Run, error) {
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

// NextTick returns the oldest tick of a task that is being fanned out and is not among those that are paused; it may be
// that there is none.
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

// ticks are the heads of the tasks' queues: one step in the index for each task, whatever waits behind. That rests on the
// form of the inner SELECT, with the index's columns in GROUP BY and no other conditions. What is left out is left out
// afterwards, so that a tick of a lane that rests still holds up those behind it.
func (f FanOuts) ticks(limit int) *runQuery {
	var q runQuery
	q.add("JOIN (SELECT MIN(id) AS head_id FROM run WHERE state = ? AND kind = ? GROUP BY state, kind, task_id) heads ON head_id = id WHERE 1 = 1",
		string(task.RunFanningOut), RunOfTick)
	f.filter(&q)
	q.add("ORDER BY id LIMIT ?", limit)
	return &q
}

func (f FanOuts) orders(limit int) *runQuery {
	var q runQuery
	q.add("WHERE state = ? AND kind = ?", string(task.RunFanningOut), RunOfOrder)
	if len(f.PausedRuns) > 0 {
		q.add("AND id NOT IN ?", f.PausedRuns)
	}
	f.filter(&q)
	// By a sum, and so by a sort of the few: by id alone MariaDB reads all runs there are in that order.
	q.add("ORDER BY id + 0 LIMIT ?", limit)
	return &q
}

// filter leaves out by task, media and lane.
func (f FanOuts) filter(q *runQuery) {
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

// runQuery is what stands behind the columns of a SELECT of runs.
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
