package upkeep

import (
	"context"
	"time"

	"adsync/base/day"
	"adsync/base/store/settings"
	"adsync/media"
)

// Scope is a report and its level, which are pulled by the day.
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

// Reaches returns what the enabled tasks pull for a platform's accounts of a tier. No task pulls a scope that is not in
// the map, and none of its days is a hole.
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

// First returns the first day within the reach at a moment, in the zone of an account.
func (r Reach) First(now time.Time, zone *time.Location) day.Day {
	return day.Of(now, zone).Add(1 - r.Days)
}

// HoleFrom returns when a day that was not pulled completely becomes a hole. Until then the regular tasks pull it.
func HoleFrom(d day.Day, zone *time.Location) time.Time { return SettledAt(d, zone).Add(fillGrace) }
