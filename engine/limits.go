package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/ratelimit"
	"adsync/base/store"
	"adsync/base/telemetry"
	"adsync/media"
)

// limitsInterval is how often the table rate_limit is read: an edit holds within this time.
const limitsInterval = 5 * time.Second

// limits keeps the waiter's rules in force: the rows of rate_limit, and each platform's own where no row speaks of the same.
type limits struct {
	store    *store.Store
	rules    *ratelimit.Rules
	waiter   *ratelimit.Waiter
	defaults []ratelimit.Rule
	log      *slog.Logger
	bad      prometheus.Gauge
	lastErr  string
	causes   *telemetry.CauseLog

	stop context.CancelFunc
	done sync.WaitGroup
}

func newLimits(s *store.Store, platforms []media.Platform, log *slog.Logger, reg prometheus.Registerer) *limits {
	l := &limits{
		store: s, rules: ratelimit.NewRules(), log: log, causes: telemetry.NewCauseLog(log),
		bad: prometheus.NewGauge(prometheus.GaugeOpts{Name: "adsync_ratelimit_bad_rows", Help: "1 while a row of rate_limit cannot be used; the log names it."}),
	}
	reg.MustRegister(l.bad)
	for _, p := range platforms {
		l.defaults = append(l.defaults, p.Limits()...)
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
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
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
	err = l.rules.Set(mergeLimits(rows, l.defaults))
	text := ""
	if err != nil {
		text = err.Error()
	}
	// Said once when it changes: the table is read every few seconds.
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

// mergeLimits returns the enabled rows and the defaults that no usable row, enabled or not, speaks of: a row that will
// be refused must not leave an endpoint without a limit.
func mergeLimits(rows []store.LimitRow, defaults []ratelimit.Rule) []ratelimit.Rule {
	type identity struct {
		media, endpoint string
		scope           ratelimit.Scope
		period          time.Duration
	}
	spoken := map[identity]bool{}
	var rules []ratelimit.Rule
	for _, r := range rows {
		if r.Validate() == nil {
			spoken[identity{r.Media, r.Endpoint, r.Scope, r.Period}] = true
		}
		if r.Enabled {
			rules = append(rules, r.Rule)
		}
	}
	for _, r := range defaults {
		if !spoken[identity{r.Media, r.Endpoint, r.Scope, r.Period}] {
			rules = append(rules, r)
		}
	}
	return rules
}
