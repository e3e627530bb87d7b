package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// RunSearch chooses runs for a list; zero fields choose all.
type RunSearch struct {
	TaskName string
	Media    string
	States   []task.RunState // one of these
	From     int64           // only runs with this id or a higher one: task.FirstRunIDAt of a time
	Before   int64           // only runs with a lower id: the last id of the page before
	Under    int64           // only runs that this run's subtasks ordered, of which the newest are searched
	Limit    int
}

// SearchRuns returns runs, the newest first.
func (s RunRows) SearchRuns(ctx context.Context, f RunSearch) ([]Run, error) {
	if !utf8.ValidString(f.TaskName) || !utf8.ValidString(f.Media) {
		return nil, nil // No run has such a name, and some servers refuse to look it up.
	}
	where, args := []string{"1 = 1"}, []any{}
	if f.Under > 0 {
		ids, err := runsUnder(ctx, s.Databases, f)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		where, args = append(where, "id IN ?"), append(args, ids)
	}
	for _, c := range []struct {
		given bool
		sql   string
		value any
	}{
		{f.TaskName != "", "task_name = ?", f.TaskName},
		{f.Media != "", "media = ?", f.Media},
		{f.From > 0, "id >= ?", f.From},
		{f.Before > 0, "id < ?", f.Before},
		{len(f.States) == 1, "state = ?", slices.Concat(f.States, []task.RunState{""})[0]},
		{len(f.States) > 1, "state IN ?", f.States},
	} {
		if c.given {
			where, args = append(where, c.sql), append(args, c.value)
		}
	}
	return ReadRuns(ctx, s.Databases, "WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?",
		append(args, f.Limit)...)
}

// underRead is how many runs that a run ordered are looked at for one page.
const underRead = 5000

// runsUnder returns the newest runs that a run's subtasks ordered, of those that a search may show.
func runsUnder(ctx context.Context, s *sqldb.Databases, f RunSearch) (ids []int64, err error) {
	before := cmp.Or(f.Before, math.MaxInt64)
	err = s.Data.Writer(ctx).Raw("SELECT run_id FROM manual_order WHERE under_run_id = ? AND run_id >= ? AND run_id < ?"+
		" ORDER BY run_id DESC LIMIT ?", f.Under, f.From, before, underRead).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("search the runs under run %d: %w", f.Under, err)
	}
	return ids, nil
}
