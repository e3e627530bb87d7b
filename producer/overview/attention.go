package overview

import (
	"context"
	"slices"
	"time"

	"adsync/base/store"
	"adsync/base/task"
)

// From when on things are worth a look.
const (
	// failedSince is how long ago a run may have failed.
	failedSince = time.Hour
	// endedMost is how many runs that failed are looked at.
	endedMost = 200
)

// attend lists what somebody should look at.
func (l *look) attend(ctx context.Context) error {
	l.attendEngine()
	l.attendTasks()
	l.attendStops()
	for state, into := range map[task.State]*[]store.Waiting{task.Retrying: &l.waiting, task.Deferred: &l.held} {
		var err error
		if *into, err = l.glance.Waiting(state, groupLooked); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		l.attendLogins, l.attendRests, l.attendParked, l.attendSummaries, l.attendGames, l.attendImpossible,
		l.attendDead, l.attendDoubtful, l.attendDifferences, l.attendFailed, l.attendUnusable, l.attendFields,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	l.attendLate()
	l.attendSlow(ctx)
	l.attendUnassigned()
	l.attendRetries()
	l.attendPauses()
	return l.fill(ctx)
}

func (l *look) add(a Attention) { l.o.Attention = append(l.o.Attention, a) }

func unique(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
