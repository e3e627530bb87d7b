package store

import (
	"context"
	"strings"

	"adsync/base/task"
)

// LaneName names a lane of a media platform.
type LaneName struct{ Media, Lane string }

// FanningOutRuns returns the oldest runs that are being fanned out, by id: those of the given lanes if in is set, else
// those of all other lanes.
func (s *Store) FanningOutRuns(ctx context.Context, lanes []LaneName, in bool, limit int) ([]Run, error) {
	if len(lanes) == 0 {
		if in {
			return nil, nil
		}
		return s.RunsInState(ctx, task.RunFanningOut, limit)
	}
	args := []any{string(task.RunFanningOut)}
	each := make([]string, len(lanes))
	for i, l := range lanes {
		each[i] = "media = ? AND lane = ?"
		args = append(args, l.Media, l.Lane)
	}
	which := "(" + strings.Join(each, " OR ") + ")"
	if !in {
		which = "NOT " + which
	}
	return s.runs(ctx, "WHERE state = ? AND "+which+" ORDER BY id LIMIT ?", append(args, limit)...)
}
