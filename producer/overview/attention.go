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
	// failedRunsMax is the number of failed runs that are read.
	failedRunsMax = 200
)

// addItems lists what needs an operator, by subject.
func (l *reading) addItems(ctx context.Context, g *overview.Glance) error {
	for state, into := range map[task.State]*[]overview.Waiting{task.Retrying: &l.waiting, task.Deferred: &l.held} {
		var err error
		if *into, err = g.Waiting(state, groupRowsMax); err != nil {
			return err
		}
	}
	engine, logins := engineItems{l.facts}, loginItems{l.facts, l.Store}
	accounts, calls := accountItems{l.facts, l.Store}, pauseItems{l.facts}
	for _, list := range []func(context.Context) error{
		engine.addEngine, engine.addTasks, engine.addStops,
		logins.addLogins, logins.addRests,
		accounts.addParked,
		(&summaryItems{l.facts, g}).addSummaries,
		accounts.addGames, accounts.addImpossible,
		(&deadItems{l.facts, l.Store, g}).addDead,
		(&doubtfulItems{l.facts, g}).addDoubtful,
		(&differenceItems{l.facts, l.Store, g}).addDifferences,
		(&runItems{l.facts, g}).addFailed,
		(&unusableItems{l.facts, g}).addUnusable,
		(&fieldItems{l.facts, l.Store}).addFields,
		(&fileItems{l.facts, l.Store}).addFiles,
		(&lateItems{l.facts}).addLate,
		(&slowItems{l.facts, l.Consumers}).addSlow,
		accounts.addUnassigned,
		(&retryItems{l.facts}).addRetries,
		calls.addPauses,
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
