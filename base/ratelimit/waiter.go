package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
)

// grantTries is how many grants a call may find ended before it takes the last one as it is. Where the ledger's answers are always that
// slow, they are so for every call, and a delay that all calls have does no harm.
const grantTries = 3

// Waiter waits for grants on behalf of callers. Its methods may be called at the same time.
type Waiter struct {
	rules   *grant.Rules
	ledger  grant.Ledger
	process string // by which the others know this one's claims
	spread  time.Duration
	metrics *metrics
	now     func() time.Time // on one scale, whatever it is
	begin   func(*desk)      // has a desk ask until there is nothing to ask

	mu    sync.Mutex
	desks map[string]*desk // by media
}

// New returns a Waiter that shares its limits with all processes on the same Redis and keys, and keeps to this process's
// part of them while Redis is away for all. That it is, and not for this process alone, the witness tells; without one (nil) it is believed.
// It starts nothing and asks nothing of Redis yet. There can be one for each reg.
func New(cfg Config, client goredis.UniversalClient, keys redis.Keys, witness Witness, rules *grant.Rules, reg prometheus.Registerer, log *slog.Logger) *Waiter {
	m := newMetrics(reg)
	common := grant.NewRedis(client, keys, cfg.ArrivalSpread, log)
	common.Plain = cfg.Plain
	f := &fallbacks{
		common: common, own: func() *grant.Memory { return grant.NewMemory(cfg.ArrivalSpread, cfg.Members) }, timeout: cfg.RedisTimeout,
		witness: witness, log: log, metrics: m, byMedia: map[string]*fallback{},
	}
	w := newWaiter(f, cfg.ArrivalSpread, rules, m)
	f.process = w.process
	return w
}

// NewLocal returns a Waiter of a process that shares its limits with no other, with the arrival spread of Config. There can be one for each
// reg; nil means no metrics.
func NewLocal(spread time.Duration, rules *grant.Rules, reg prometheus.Registerer) *Waiter {
	return newWaiter(grant.NewMemory(spread, 1), spread, rules, newMetrics(reg))
}

func newWaiter(l grant.Ledger, spread time.Duration, rules *grant.Rules, m *metrics) *Waiter {
	return &Waiter{rules: rules, ledger: l, process: rand.Text()[:10], spread: spread, metrics: m, now: clock.Mark, desks: map[string]*desk{},
		// It asks for all, whoever made it begin.
		begin: func(d *desk) { go d.ask(context.Background()) },
	}
}

// WaitError says that a call's grant would have come after its deadline. It is a context.DeadlineExceeded to errors.Is.
type WaitError struct {
	Call  grant.Call
	Key   grant.Key     // the limit, or the paused point, that holds the call back; without a Limit and a Scope it is not known
	After time.Duration // the call can be granted no earlier than this after the error was returned; 0 is not known
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("call of %s %s: %s would let it wait %s, past its deadline", e.Call.Media, e.Call.Endpoint, e.Key, e.After.Round(time.Millisecond))
}

// Unwrap implements the interface of errors.Is.
func (e *WaitError) Unwrap() error { return context.DeadlineExceeded }

// Grant is the leave to make one call.
type Grant struct {
	// Until is the moment by which the request must have been written; zero where it is not known whether one that comes later does harm. It is
	// of the monotonic clock.
	Until time.Time
	rows  int
}

// Wait returns when the call may be made, at once: the grant's pace holds only if the request is written by the end of the grant. The calls that a limit
// holds back share it: the more important ones (Terms.Importance) have the larger part, none is left without but those that are to have spare
// calls alone; of those of one importance, each process has as much as the others. In a process they go by their turns (Terms.Turn), but those of an account that
// has had more calls than others after theirs.
//
// It returns a *WaitError as soon as it is known that the grant would come after the deadline of ctx, at the latest at the
// deadline, and another error when ctx was cancelled. Without a deadline it waits for as long as it takes.
func (w *Waiter) Wait(ctx context.Context, c grant.Call) (Grant, error) {
	defer aroundWait(ctx)()
	began := clock.Mark()
	d := w.desk(c.Media)
	if s, ok := d.takeSpare(c, Importance(ctx), began); ok {
		d.taken.Inc()
		d.waited.Observe(0)
		granted(ctx)
		return Grant{s.until, s.rows}, nil
	}
	for late := 0; ; {
		t, s, err := d.stand(ctx, c)
		if err == nil {
			if err = clock.Sleep(ctx, clock.Until(s.from)); err != nil {
				d.giveBack(t, s)
			}
		}
		if err != nil {
			return Grant{}, w.failed(c, err)
		}
		if d.isPaused(c) {
			continue
		}
		g := Grant{s.until, s.rows}
		if clock.Mark().After(s.until) {
			if late++; late < grantTries {
				w.metrics.late.WithLabelValues(c.Media).Inc()
				continue
			}
			g.Until = time.Time{}
		}
		d.taken.Inc()
		d.waited.Observe(clock.Since(began).Seconds())
		granted(ctx)
		return g, nil
	}
}

// Settle tells how many rows a call has matched whose limits count them (Call.Rows). If they were more than was thought, the next calls wait for them.
func (w *Waiter) Settle(c grant.Call, g Grant, rows int) {
	w.desk(c.Media).settle(c, g.rows, max(0, rows))
}

// Listen learns of the pauses that other processes order as they do, and of the loss of Redis, until ctx ends; without it with the next ask, 2 s later
// at most. Meanwhile it also has Redis know that it can be reached, where there are no calls to ask for: otherwise the first call after a rest of all
// processes waits for some seconds.
func (w *Waiter) Listen(ctx context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	if f, ok := w.ledger.(*fallbacks); ok {
		listening.Go(func() { f.watch(ctx) })
	}
	heard := map[string]bool{}
	for clock.Sleep(ctx, lookEvery) == nil {
		for _, d := range w.all() {
			if !heard[d.media] {
				heard[d.media] = true
				listening.Go(func() {
					w.ledger.Listen(ctx, d.media, func(point grant.Key, left time.Duration) { d.pause(point, clock.Mark().Add(left)) }, func(error) {})
				})
			}
			d.touch()
		}
	}
}

// Trouble returns why this process does not share its limits by Redis, named for each media; nil while it does.
func (w *Waiter) Trouble() error {
	if f, ok := w.ledger.(*fallbacks); ok {
		return f.trouble()
	}
	return nil
}

// State tells how the limits of a media stand that were asked for within the last day, but for those of single accounts, and what is paused.
// It fails where limits are not shared by Redis, or it is away.
func (w *Waiter) State(ctx context.Context, media string) ([]grant.LimitState, []grant.PauseState, error) {
	f, ok := w.ledger.(*fallbacks)
	if !ok {
		return nil, nil, errors.New("the limits of this process are not in Redis")
	}
	common, ok := f.common.(*grant.Redis)
	if !ok {
		return nil, nil, errors.New("the limits of this process are not in Redis")
	}
	limits, pauses, err := common.State(ctx, media, w.rules)
	if err != nil {
		return nil, nil, fmt.Errorf("read the limits of %s: %w", media, err)
	}
	return limits, pauses, nil
}

func (w *Waiter) all() []*desk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.desks))
}

func (w *Waiter) desk(media string) *desk {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.desks[media]
	if d == nil {
		d = newDesk(w, media)
		w.desks[media] = d
	}
	return d
}

// Pause lets no process make calls like c for d, at most PauseMax: with ScopeApp those of its app to its endpoint, with
// ScopeAccount those for its account to its endpoint, with ScopePlatform all to its media. It is what an over-limit
// answer asks for. It lasts at least as long as the Penalty of the rules that cover the call, and never shortens a longer pause; a d of 0 or less ends one. On an error this process alone keeps the pause.
//
// A pause also tightens the limits of the scope that cover the call, by a tenth at a time down to a half: the platform allows less than they say. They
// come back within 10 minutes.
func (w *Waiter) Pause(ctx context.Context, c grant.Call, scope grant.Scope, d time.Duration) error {
	w.metrics.paused.WithLabelValues(c.Media, string(scope)).Inc()
	point, desk := grant.PausePoint(c, scope), w.desk(c.Media)
	if d > 0 {
		d = max(d, w.rules.Penalty(c, scope))
	}
	d = min(d, grant.PauseMax)
	desk.pause(point, clock.Mark().Add(d))
	if err := w.ledger.Pause(ctx, point, d); err != nil || d <= 0 {
		return err
	}
	return w.tighten(ctx, c, scope, func(grant.Key) bool { return true })
}

// EndPause ends a pause in all processes. On an error only this one has ended it: the others keep theirs until Redis answers again
// and this is called again, or the pause is over.
func (w *Waiter) EndPause(ctx context.Context, p grant.PauseState) error {
	point := grant.Key{Media: p.Media, Endpoint: p.Endpoint, Scope: p.Scope, Subject: p.Subject}
	w.desk(p.Media).pause(point, clock.Mark())
	return w.ledger.Pause(ctx, point, 0)
}

// Usage is what a platform tells of a limit: which part of the calls of its running period is left, 0 to 1.
type Usage struct {
	Period time.Duration
	Left   float64
}

// Used tells how far the platform says that the limits of a scope are used at the endpoint of c. A limit of which less is left than half of what
// our share leaves alone is used by others too, and is tightened as by Pause. On an error this process alone knows of it.
func (w *Waiter) Used(ctx context.Context, c grant.Call, scope grant.Scope, usage []Usage) error {
	if len(usage) == 0 {
		return nil
	}
	return w.tighten(ctx, c, scope, func(k grant.Key) bool {
		return slices.ContainsFunc(usage, func(u Usage) bool { return u.Period == k.Period && u.Left < (1-k.Share)/2 })
	})
}

// tighten tightens the limits of a scope that cover a call.
func (w *Waiter) tighten(ctx context.Context, c grant.Call, scope grant.Scope, which func(grant.Key) bool) error {
	for limit, whole := range w.desk(c.Media).tighten(c, scope, which) {
		w.metrics.tightened.WithLabelValues(c.Media).Inc()
		if err := w.ledger.Pause(ctx, limit, whole); err != nil {
			return err
		}
	}
	return nil
}

// failed counts and names an error of Wait.
func (w *Waiter) failed(c grant.Call, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		w.metrics.wouldExceed.WithLabelValues(c.Media).Inc()
		if _, named := errors.AsType[*WaitError](err); !named {
			// The deadline came while Redis was asked or the granted moment was awaited.
			err = &WaitError{Call: c, Key: grant.Key{Media: c.Media, Endpoint: c.Endpoint}}
		}
		return err
	}
	return fmt.Errorf("wait to call %s %s: %w", c.Media, c.Endpoint, err)
}
