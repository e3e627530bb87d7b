package producer

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/producer/tasklist"
)

const (
	missingInterval = 30 * time.Second
	// missingAfter is the age from which a planned moment without a tick counts as missing.
	missingAfter = 2 * time.Minute
	// missingMax bounds the search in one task.
	missingMax = 10_000
)

// ledgerWatch finds planned moments that are not in the ledger, from the tables only. It does not rely on a leader, and
// works without one.
type ledgerWatch struct {
	store   ledgerStore
	tasks   *tasklist.Set
	clock   clock.Clock // of ticks
	waiting clock.Clock // of pauses
	missing prometheus.Gauge
	logger  *slog.Logger

	// complete is the moment up to which a task's ledger is complete, by the task's id and schedule.
	complete map[watched]time.Time
}

// ledgerStore reads the ledger and the rows that determine its moments.
type ledgerStore interface {
	TaskSchedules(ctx context.Context) (map[int64]settings.TaskSchedule, error)
	ActiveStops(ctx context.Context) ([]task.Stop, error)
	PlannedAfter(ctx context.Context, after map[int64]time.Time) (map[int64][]time.Time, error)
}

func newLedgerWatch(p *Producer) *ledgerWatch {
	return &ledgerWatch{
		store: p.store, tasks: p.tasks, clock: p.clock, waiting: p.waiting, missing: p.metrics.missing, logger: p.logger,
		complete: map[watched]time.Time{},
	}
}

type watched struct {
	taskID int64
	hash   string
}

// run counts missing ticks repeatedly until ctx ends.
func (w *ledgerWatch) run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		n, err := w.missingTicks(ctx)
		if err == nil {
			w.missing.Set(float64(n))
		} else if !failing && ctx.Err() == nil {
			w.logger.Warn("cannot count missing ticks", "err", err)
		}
		failing = err != nil
		waitFor(ctx, missingInterval, nil)
	}
}

// missingTicks counts the moments of all tasks that are older than missingAfter, that their tasks' policies require,
// and that have no tick: with "all" every moment within the window, with "latest" the last one if no later one was
// made. With "none" no moment is required.
func (w *ledgerWatch) missingTicks(ctx context.Context) (int, error) {
	list := w.tasks.Current()
	schedules, err := w.store.TaskSchedules(ctx)
	if err != nil {
		return 0, err
	}
	active, err := w.store.ActiveStops(ctx)
	if err != nil {
		return 0, err
	}
	stops := task.NewStops(active)
	now := w.clock.Now()
	horizon := now.Add(-missingAfter)
	after := map[int64]time.Time{}
	wanted := map[int64][]time.Time{}
	complete := map[watched]time.Time{}
	for id, tk := range list.Tasks {
		since, planned := schedules[id], tk.Enabled && tk.Schedule.Recurs()
		key := watched{id, since.Hash}
		if !planned || since.Hash != tk.ScheduleHash() ||
			stops.Paused(task.Subject{TaskID: id, Media: tk.Media}, w.waiting.Now()) != nil {
			continue
		}
		from := clock.Later(clock.Later(since.Since, windowBegin(tk, now)), w.complete[key])
		complete[key] = from
		if moments := wantedMoments(tk.Schedule, tk.CatchUp, from, horizon); len(moments) > 0 {
			after[id], wanted[id] = moments[0].Add(-time.Millisecond), moments
		}
	}
	made, err := w.store.PlannedAfter(ctx, after)
	if err != nil {
		return 0, err
	}
	n := 0
	for id, moments := range wanted {
		key := watched{id, schedules[id].Hash}
		missing := without(moments, made[id])
		if list.Tasks[id].CatchUp == task.CatchUpLatest && len(made[id]) > 0 {
			missing = nil // The moment or a later one was made.
		}
		if n += len(missing); len(missing) > 0 {
			complete[key] = clock.Later(complete[key], missing[0].Add(-time.Millisecond))
		} else {
			complete[key] = clock.Later(complete[key], moments[len(moments)-1])
		}
	}
	w.complete = complete
	return n, nil
}

// wantedMoments returns the moments after from, up to through, that a policy requires, at most missingMax.
func wantedMoments(s schedule.Schedule, policy task.CatchUp, from, through time.Time) []time.Time {
	switch policy {
	case task.CatchUpAll:
		return momentsOf(s, from, through, missingMax)
	case task.CatchUpLatest:
		if m := lastMoment(s, from, through); !m.IsZero() {
			return []time.Time{m}
		}
	}
	return nil
}

// without returns the moments that are not in made. Both are ascending.
func without(moments, made []time.Time) []time.Time {
	var missing []time.Time
	for _, m := range moments {
		for len(made) > 0 && made[0].Before(m) {
			made = made[1:]
		}
		if len(made) == 0 || !made[0].Equal(m) {
			missing = append(missing, m)
		}
	}
	return missing
}
