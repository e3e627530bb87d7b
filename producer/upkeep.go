package producer

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/lease"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer/tasklist"
)

// upkeepLoop is the loop that makes tables and topics ahead of their use, keeps the last good rows, and counts.
type upkeepLoop struct {
	passes  passes
	store   upkeepStore
	lease   lease.Lease
	clock   clock.Clock
	tasks   *tasklist.Set
	out     *outbox
	tables  *logTables
	metrics *metrics

	// The known content of task_good: its rows, and the version of the task list that they were taken from.
	goodRows    map[int64]settings.TaskRow
	goodVersion int
}

// upkeepStore stores the last good rows and counts.
type upkeepStore interface {
	GoodTaskRows(ctx context.Context) (map[int64]settings.TaskRow, error)
	PutGoodTaskRows(ctx context.Context, l lease.Lease, good []settings.TaskRow, gone []int64, now time.Time) error
	CountConfirmedDifferences(ctx context.Context) (map[string]int64, error)
	CountDue(ctx context.Context) (map[string]int64, error)
	CountRunsInState(ctx context.Context, state task.RunState) (int64, error)
}

// Run does the upkeep until ctx ends.
func (u *upkeepLoop) Run(ctx context.Context) error {
	return u.passes.run(ctx, u.keepUp, every(upkeepInterval))
}

// keepUp is one pass. An error of one step does not stop the others.
func (u *upkeepLoop) keepUp(ctx context.Context) error {
	return errors.Join(u.keepTables(ctx), u.keepTopics(ctx), u.keepGoodRows(ctx), u.keepDifferences(ctx),
		u.keepFigures(ctx))
}

// keepTables makes today's and tomorrow's log table, so that at midnight thousands of runs do not wait for it.
func (u *upkeepLoop) keepTables(ctx context.Context) error {
	today := day.Of(u.clock.Now(), time.UTC)
	for _, d := range []day.Day{today, today.Add(1)} {
		if err := u.tables.ensure(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// keepTopics makes the topics that the tasks name.
func (u *upkeepLoop) keepTopics(ctx context.Context) error {
	for _, tk := range u.tasks.Current().Tasks {
		if err := u.out.ensureTopic(ctx, tk.Media, tk.Lane); err != nil {
			return err
		}
	}
	return nil
}

// keepDifferences counts the figures of accounts that differ from the sums of their levels.
func (u *upkeepLoop) keepDifferences(ctx context.Context) error {
	counts, err := u.store.CountConfirmedDifferences(ctx)
	if err != nil {
		return err
	}
	setByMedia(u.metrics.differing, counts, u.tasks.Current())
	return nil
}

func (u *upkeepLoop) keepFigures(ctx context.Context) error {
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		n, err := u.store.CountRunsInState(ctx, state)
		if err != nil {
			return err
		}
		u.metrics.runsOpen.WithLabelValues(string(state)).Set(float64(n))
	}
	counts, err := u.store.CountDue(ctx)
	if err != nil {
		return err
	}
	for state, n := range counts {
		u.metrics.due.WithLabelValues(state).Set(float64(n))
	}
	return nil
}

// setByMedia sets a gauge to counts by media, and to 0 for other media.
func setByMedia(gauge *prometheus.GaugeVec, counts map[string]int64, list *tasklist.List) {
	for _, tk := range list.Tasks {
		counts[tk.Media] += 0
	}
	for media, n := range counts {
		gauge.WithLabelValues(media).Set(float64(n))
	}
}
