package producer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/task"
)

// keepUp does what the leader does beside runs: tables and topics ahead of their use, bindings, figures.
func (t *term) keepUp(ctx context.Context) error {
	return errors.Join(t.keepTables(ctx), t.keepTopics(ctx), t.keepBindings(ctx), t.keepAudit(ctx), t.keepGoodRows(ctx), t.keepDead(ctx), t.keepDifferences(ctx), t.keepFigures(ctx))
}

// keepTables makes today's and tomorrow's log table: at midnight thousands of runs must not wait for it.
func (t *term) keepTables(ctx context.Context) error {
	today := day.Of(t.clock.Now(), time.UTC)
	for _, d := range []day.Day{today, today.Add(1)} {
		if err := t.once("log "+d.String(), func() error { return t.store.EnsureLogTable(ctx, d) }); err != nil {
			return err
		}
	}
	return nil
}

// keepTopics makes the topics that the tasks name.
func (t *term) keepTopics(ctx context.Context) error {
	for _, tk := range t.tasks.current().tasks {
		if err := t.ensureTopic(ctx, tk.Media, tk.Lane); err != nil {
			return err
		}
	}
	return nil
}

// keepAudit has the audit log tell of what was edited by SQL.
func (t *term) keepAudit(ctx context.Context) error {
	if !t.auditedAt.IsZero() && clock.Since(t.auditedAt) < t.cfg.ReloadInterval {
		return nil
	}
	begun := clock.Mark()
	next, err := t.store.NoteEdits(ctx, t.audited)
	if err != nil {
		return err
	}
	t.auditedAt, t.audited = begun, next
	return nil
}

// keepDifferences tells how many figures of accounts are not the sums of their levels.
func (t *term) keepDifferences(ctx context.Context) error {
	counts, err := t.store.CountConfirmedDifferences(ctx)
	if err != nil {
		return err
	}
	t.setByMedia(t.metrics.differing, counts)
	return nil
}

// setByMedia sets a gauge to counts by media. A media that is no longer among them must not keep its figure.
func (t *term) setByMedia(gauge *prometheus.GaugeVec, counts map[string]int64) {
	for _, tk := range t.tasks.current().tasks {
		counts[tk.Media] += 0
	}
	for media, n := range counts {
		gauge.WithLabelValues(media).Set(float64(n))
	}
}

// pace has passes over the tables for metrics rest in proportion to how long the last one took.
type pace struct {
	interval time.Duration // the least rest
	times    int           // how many times as long as a pass it rests
	took     time.Duration // by the last pass
}

// longestRest is how many times the interval a rest is at the most. A database in trouble, in which a pass takes minutes, must not make figures older than that.
const longestRest = 6

func (p *pace) pass(ctx context.Context, pass func(context.Context) error) error {
	began := clock.Mark()
	err := pass(ctx)
	p.took = clock.Since(began)
	return err
}

func (p *pace) rest() time.Duration {
	return min(max(p.interval, time.Duration(p.times)*p.took), longestRest*p.interval)
}

func (p *pace) wait(ctx context.Context) { waitFor(ctx, p.rest(), nil) }

// readFigures has the figures of the tables read for metrics.
func (t *term) readFigures(ctx context.Context) error {
	var tasks []task.Task
	for _, tk := range t.tasks.current().tasks {
		if tk.Enabled {
			tasks = append(tasks, tk.Task)
		}
	}
	slices.SortFunc(tasks, func(a, b task.Task) int { return cmp.Compare(a.ID, b.ID) })
	return t.watcher.Pass(ctx, tasks)
}

func (t *term) keepFigures(ctx context.Context) error {
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		n, err := t.store.CountRunsInState(ctx, state)
		if err != nil {
			return err
		}
		t.metrics.runsOpen.WithLabelValues(string(state)).Set(float64(n))
	}
	counts, err := t.store.CountDue(ctx)
	if err != nil {
		return err
	}
	for state, n := range counts {
		t.metrics.due.WithLabelValues(state).Set(float64(n))
	}
	return nil
}
