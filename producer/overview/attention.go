package overview

import (
	"context"
	"slices"
	"time"

	"adsync/base/store/overview"
	"adsync/base/task"
)

// Bounds of what the items list.
const (
	// failedSince is the age up to which failed runs are listed.
	failedSince = time.Hour
	// endedMost is the number of failed runs that are read.
	endedMost = 200
)

// attend lists what needs an operator, by subject.
func (l *look) attend(ctx context.Context, g *overview.Glance) error {
	for state, into := range map[task.State]*[]overview.Waiting{task.Retrying: &l.waiting, task.Deferred: &l.held} {
		var err error
		if *into, err = g.Waiting(state, groupLooked); err != nil {
			return err
		}
	}
	engine, logins := engineItems{l.facts}, loginItems{l.facts, l.Store}
	accounts, calls := accountItems{l.facts, l.Store}, pauseItems{l.facts}
	for _, list := range []func(context.Context) error{
		engine.attendEngine, engine.attendTasks, engine.attendStops,
		logins.attendLogins, logins.attendRests,
		accounts.attendParked,
		(&summaryItems{l.facts, g}).attendSummaries,
		accounts.attendGames, accounts.attendImpossible,
		(&deadItems{l.facts, l.Store, g}).attendDead,
		(&doubtfulItems{l.facts, g}).attendDoubtful,
		(&differenceItems{l.facts, l.Store, g}).attendDifferences,
		(&runItems{l.facts, g}).attendFailed,
		(&unusableItems{l.facts, g}).attendUnusable,
		(&fieldItems{l.facts, l.Store}).attendFields,
		(&lateItems{l.facts}).attendLate,
		(&slowItems{l.facts, l.Consumers}).attendSlow,
		accounts.attendUnassigned,
		(&retryItems{l.facts}).attendRetries,
		calls.attendPauses,
	} {
		if err := list(ctx); err != nil {
			return err
		}
	}
	return l.fill(ctx, l.Store, g)
}

func unique(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
