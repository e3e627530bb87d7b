package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/media"
)

// limitsInterval is how often the table rate_limit is read: an edit takes effect within this time.
const limitsInterval = 5 * time.Second

// learnIntervals is the number of these intervals after which limits with unknown numbers are evaluated.
const learnIntervals = 6

// limits keeps the waiter's rules up to date: the rows of rate_limit, and each platform's own rules without a row for
// the same calls.
type limits struct {
	store    *store.Store
	rules    *grant.Rules
	waiter   *ratelimit.Waiter
	defaults []grant.Rule
	media    []string
	log      *slog.Logger
	bad      prometheus.Gauge
	lastErr  string
	causes   *telemetry.CauseLog

	stop context.CancelFunc
	done sync.WaitGroup
}

func newLimits(s *store.Store, platforms []media.Platform, log *slog.Logger, reg prometheus.Registerer) *limits {
	l := &limits{
		store: s, rules: grant.NewRules(), log: log, causes: telemetry.NewCauseLog(log),
		bad: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_ratelimit_bad_rows",
			Help: "1 while a row of rate_limit cannot be used; the log names it."}),
	}
	reg.MustRegister(l.bad)
	for _, p := range platforms {
		l.defaults = append(l.defaults, p.Limits()...)
		l.media = append(l.media, p.Name())
	}
	return l
}

// Start implements service.Service: the rules are in force when it returns.
func (l *limits) Start(ctx context.Context) error {
	if err := l.reload(ctx); err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.done.Go(func() { l.waiter.Listen(ctx) })
	l.done.Go(func() {
		ticker := time.NewTicker(limitsInterval)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if n%learnIntervals == 0 {
					l.learn(ctx)
				}
				if err := l.reload(ctx); err == nil {
					l.causes.Clear("read")
				} else if ctx.Err() == nil {
					l.causes.Report(slog.LevelWarn, "read", "cannot read rate_limit: the limits stay as they are", err)
				}
			}
		}
	})
	return nil
}

// Stop implements service.Service.
func (l *limits) Stop() {
	if l.stop != nil {
		l.stop()
	}
	l.done.Wait()
}

func (l *limits) reload(ctx context.Context) error {
	rows, err := l.store.RateLimits(ctx)
	if err != nil {
		return err
	}
	merged := settings.LimitsInForce(rows, l.defaults)
	if slices.ContainsFunc(merged, func(r grant.Rule) bool { return r.LimitMax > 0 }) {
		learned, err := l.store.LearnedLimits(ctx)
		if err != nil {
			return err
		}
		l.rules.SetLearned(learned)
	}
	err = l.rules.Set(merged)
	text := ""
	if err != nil {
		text = err.Error()
	}
	// It is logged once when it changes, because the table is read every few seconds.
	if text != l.lastErr && err != nil {
		l.log.Error("rows of rate_limit cannot be used", "err", err)
	}
	l.lastErr = text
	l.bad.Set(0)
	if err != nil {
		l.bad.Set(1)
	}
	return nil
}

// learn evaluates the state of limits with unknown numbers, and stores what it learns. Every process does so. One of
// them is the first.
func (l *limits) learn(ctx context.Context) {
	for _, name := range l.media {
		if !l.rules.Unknown(name) {
			continue
		}
		err := l.learnOf(ctx, name)
		switch {
		case err == nil:
			l.causes.Clear("learn " + name)
		case ctx.Err() == nil:
			l.causes.Report(slog.LevelWarn, "learn "+name, "cannot learn a platform's limits", err, "media", name)
		}
	}
}

func (l *limits) learnOf(ctx context.Context, name string) error {
	states, _, err := l.waiter.State(ctx, name)
	if err != nil {
		return err
	}
	known, err := l.store.LearnedLimits(ctx)
	if err != nil {
		return err
	}
	now, err := l.store.Config.Now(ctx)
	if err != nil {
		return err
	}
	for _, s := range states {
		var before grant.Learned
		for _, x := range known {
			if x.Is(s.Key) {
				before = x
			}
		}
		after, changed := grant.Learn(before, s, now)
		if !changed {
			continue
		}
		first, err := l.store.LearnLimit(ctx, before, after)
		if err != nil {
			return err
		}
		if first {
			l.log.InfoContext(ctx, "an unknown limit is tried with another number", "limit", s.String(), "calls", after.Limit,
				"refused", after.Refused)
		}
	}
	return nil
}
