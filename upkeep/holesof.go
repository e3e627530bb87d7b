package upkeep

import (
	"context"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/media"
)

// HoleStore is what HolesOf needs of the store.
type HoleStore interface {
	ReachStore
	AccountsWithHoles(ctx context.Context, accountIDs []int64, c results.Calendar) ([]int64, error)
	Holes(ctx context.Context, accountIDs []int64, c results.Calendar) ([]results.Hole, error)
}

// ScopeHole is a hole, what it is of, and the task that should have pulled it.
type ScopeHole struct {
	Scope
	results.Hole

	Task string
}

// HolesOf returns the holes of some accounts of a platform, given by id, on days from one to another, both included.
// It writes nothing, and returns holes that are ordered or under way too.
func HolesOf(
	ctx context.Context, s HoleStore, platform media.Platform, accounts []results.FillAccount, from, to day.Day,
	now time.Time,
) ([]ScopeHole, error) {
	scopes, err := fillScopes(ctx, s, platform)
	if err != nil {
		return nil, err
	}
	f := &filler{now: now}
	var all []ScopeHole
	for _, scope := range scopes {
		for _, g := range f.groups(scope, accounts) {
			g.calendar.Days = slices.DeleteFunc(g.calendar.Days, func(d results.CalendarDay) bool {
				return d.Day < from || d.Day > to
			})
			if len(g.calendar.Days) == 0 {
				continue
			}
			ids, err := s.AccountsWithHoles(ctx, g.accounts, g.calendar)
			if err != nil {
				return nil, err
			}
			for some := range slices.Chunk(ids, holesPage) {
				holes, err := s.Holes(ctx, some, g.calendar)
				if err != nil {
					return nil, err
				}
				for _, h := range holes {
					all = append(all, ScopeHole{Scope: Scope{scope.Name, scope.Level}, Hole: h, Task: g.task.name})
				}
			}
		}
	}
	return all, nil
}
