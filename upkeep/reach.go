package upkeep

import (
	"context"
	"time"

	"adsync/base/day"
	"adsync/base/store/settings"
	"adsync/media"
)

// Scope is what is pulled by the day: a report, and its level.
type Scope struct{ Report, Level string }

// Reach is how far back the tasks of cron_task pull something.
type Reach struct {
	Task string // that reaches back furthest
	Days int    // the present one included
}

// ReachStore is what Reaches needs of the store.
type ReachStore interface {
	TaskRows(ctx context.Context) ([]settings.TaskRow, error)
	Lanes(ctx context.Context) ([]settings.Lane, error)
}

// Reaches tells what the enabled tasks pull of a platform's accounts of a tier. What is not among it nobody pulls,
// and none of its days is a hole.
func Reaches(ctx context.Context, s ReachStore, platform media.Platform, tier string) (map[Scope]Reach, error) {
	scopes, err := fillScopes(ctx, s, platform)
	if err != nil {
		return nil, err
	}
	all := make(map[Scope]Reach, len(scopes))
	for _, scope := range scopes {
		if t, ok := scope.taskOf(tier); ok {
			all[Scope{scope.Name, scope.Level}] = Reach{Task: t.name, Days: t.days}
		}
	}
	return all, nil
}

// First is the first day that the reach has at a moment, in the zone of an account.
func (r Reach) First(now time.Time, zone *time.Location) day.Day {
	return day.Of(now, zone).Add(1 - r.Days)
}

// HoleFrom is when a day that was not pulled whole becomes a hole: until then it is left to the tasks that pull it
// anyway.
func HoleFrom(d day.Day, zone *time.Location) time.Time { return settledAt(d, zone).Add(fillGrace) }
