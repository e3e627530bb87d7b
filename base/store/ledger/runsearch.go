package ledger

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"adsync/base/task"
)

// RunSearch chooses runs for a list; zero fields choose all.
type RunSearch struct {
	TaskName string
	Media    string
	States   []task.RunState // one of these
	From     int64           // only runs with this id or a higher one: task.FirstRunIDAt of a time
	Before   int64           // only runs with a lower id: the last id of the page before
	Limit    int
}

// SearchRuns returns runs, the newest first.
func (s RunRows) SearchRuns(ctx context.Context, f RunSearch) ([]Run, error) {
	if !utf8.ValidString(f.TaskName) || !utf8.ValidString(f.Media) {
		return nil, nil // No run has such a name, and some servers refuse to look it up.
	}
	where, args := []string{"1 = 1"}, []any{}
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
