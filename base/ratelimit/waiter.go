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

// grantTries is how many grants of a call may have ended before the call takes the last one anyway, if no call of its
// media was in time meanwhile. If the ledger is always that slow, all calls are equally late, and an equal delay does
// no harm. If only some calls are late, as on a machine that is used up, a late one would arrive together with others.
const grantTries = 3

// Waiter waits for grants on behalf of callers. Its methods may be called concurrently.
type Waiter struct {
	rules   *grant.Rules
	ledger  grant.Ledger
	process string // the name under which the others know this process's claims
	spread  time.Duration
	metrics *metrics
	now     func() time.Time  // a monotonic scale with any origin
	start   func(*dispatcher) // starts the requests of a dispatcher

	mu          sync.Mutex
	dispatchers map[string]*dispatcher // by media
}

// New returns a Waiter that shares its limits with all processes on the same Redis and keys, and keeps to this
// process's part of them while Redis is away for all. The witness records whether it is away for all or only for this
// process; without one (nil) it counts as away for all. New starts nothing and sends nothing to Redis. There can be
// one Waiter for each reg.
func New(cfg Config, client goredis.UniversalClient, keys redis.Keys, witness Witness, rules *grant.Rules,
	reg prometheus.Registerer, log *slog.Logger) *Waiter {
	m := newMetrics(reg)
	common := grant.NewRedis(client, keys, cfg.ArrivalSpread, log)
	common.Plain = cfg.Plain
	f := &fallbacks{
		common: common, own: func() *grant.Memory { return grant.NewMemory(cfg.ArrivalSpread, cfg.Members) },
		timeout: cfg.RedisTimeout,
		witness: witness, log: log, metrics: m, byMedia: map[string]*fallback{},
	}
	w := newWaiter(f, cfg.ArrivalSpread, rules, m)
	f.process = w.process
	return w
}

// NewLocal returns a Waiter of a process that shares its limits with no other, with the arrival spread of Config.
// There can be one for each reg; nil means no metrics.
func NewLocal(spread time.Duration, rules *grant.Rules, reg prometheus.Registerer) *Waiter {
	return newWaiter(grant.NewMemory(spread, 1), spread, rules, newMetrics(reg))
}

func newWaiter(l grant.Ledger, spread time.Duration, rules *grant.Rules, m *metrics) *Waiter {
	return &Waiter{rules: rules, ledger: l, process: rand.Text()[:10], spread: spread, metrics: m, now: clock.Mark,
		dispatchers: map[string]*dispatcher{},
		// The requests are for all callers, so they do not end with the context of the one that started them.
		start: func(d *dispatcher) { go d.requestUntilIdle(context.Background()) },
	}
}

// WaitError reports that a call's grant would have come after its deadline. It is a context.DeadlineExceeded to
// errors.Is.
type WaitError struct {
	Call  grant.Call
	Key   grant.Key     // the limit, or the paused point, that holds the call back; unknown without a Limit and a Scope
	After time.Duration // the call can be granted no earlier than this after the error was returned; 0 is unknown
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("call of %s %s: %s would let it wait %s, past its deadline", e.Call.Media, e.Call.Endpoint, e.Key,
		e.After.Round(time.Millisecond))
}

// Unwrap implements the interface of errors.Is.
func (e *WaitError) Unwrap() error { return context.DeadlineExceeded }

// Grant is the permission to make one call.
type Grant struct {
	// Until is the time by which the request must have been written, on the monotonic clock. It is zero if a later one
	// may do no harm.
	Until time.Time
	rows  int
}

// Wait returns when the call may be made, at once: the limit is kept only if the request is written by the end of the
// grant. The calls that a limit holds back share it. The more important ones (Terms.Importance) get the larger part,
// and none gets nothing except spare calls. Among calls of one importance, each process gets as much as the others.
// In a process, calls are ordered by rank (Terms.Rank), but calls of an account that has had more than others come
// after the others' calls.
//
// Wait returns a *WaitError as soon as it is known that the grant would come after the deadline of ctx, at the latest
// at the deadline. It returns another error if ctx was cancelled. Without a deadline it waits without a bound.
func (w *Waiter) Wait(ctx context.Context, c grant.Call) (Grant, error) {
	defer Waiting(ctx)()
	began := clock.Mark()
	d := w.dispatcher(c.Media)
	if s, ok := d.takeSpare(c, Importance(ctx), began); ok {
		d.taken.Inc()
		d.waited.Observe(0)
		Granted(ctx)
		return Grant{s.until, s.rows}, nil
	}
	var inTime int64 // how many calls had been, when this one was late first
	for late := 0; ; {
		t, s, err := d.awaitSlot(ctx, c)
		if err == nil {
			if err = clock.Sleep(ctx, clock.Until(s.from)); err != nil {
				d.returnSlot(t, s)
			}
		}
		if err != nil {
			return Grant{}, w.failed(c, err)
		}
		if d.isPaused(c) {
			continue
		}
		g := Grant{s.until, s.rows}
		if !clock.Mark().After(s.until) {
			d.inTime.Add(1)
		} else {
			if late++; late == 1 {
				inTime = d.inTime.Load()
			}
			if late < grantTries || d.inTime.Load() != inTime {
				w.metrics.late.WithLabelValues(c.Media).Inc()
				continue
			}
			g.Until = time.Time{}
		}
		d.taken.Inc()
		d.waited.Observe(clock.Since(began).Seconds())
		Granted(ctx)
		return g, nil
	}
}

// Covers reports whether any rule in force covers a call.
func (w *Waiter) Covers(c grant.Call) bool {
	common, own := w.rules.Cover(c, clock.Mark())
	return len(common)+len(own) > 0
}

// Settle records how many rows a call has matched whose limits count rows (Call.Rows). If they were more than
// estimated, the next calls wait for them.
func (w *Waiter) Settle(c grant.Call, g Grant, rows int) {
	w.dispatcher(c.Media).settle(c, g.rows, max(0, rows))
}

// Listen receives the pauses that other processes order, and the loss of Redis, until ctx ends. Without it this
// process learns of them with its next request, at most 2 s later. It also sends an empty request when no calls have
// been requested for a while. Otherwise the first call after a rest of all processes would wait for some seconds.
func (w *Waiter) Listen(ctx context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	if f, ok := w.ledger.(*fallbacks); ok {
		listening.Go(func() { f.watch(ctx) })
	}
	listensTo := map[string]bool{}
	for clock.Sleep(ctx, witnessEvery) == nil {
		for _, d := range w.all() {
			if !listensTo[d.media] {
				listensTo[d.media] = true
				listening.Go(func() {
					w.ledger.Listen(ctx, d.media, func(point grant.Key, left time.Duration) { d.pause(point, clock.Mark().Add(left)) },
						func(error) {})
				})
			}
			d.keepAlive()
		}
	}
}

// Trouble returns for each media why this process does not share its limits through Redis; nil while it does.
func (w *Waiter) Trouble() error {
	if f, ok := w.ledger.(*fallbacks); ok {
		return f.trouble()
	}
	return nil
}

// State returns the state of the limits of a media that were requested within the last day, except those of single
// accounts, and the pauses in force. It fails if the limits are not shared through Redis, or if Redis is away.
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

func (w *Waiter) all() []*dispatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.dispatchers))
}

func (w *Waiter) dispatcher(media string) *dispatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dispatchers[media]
	if d == nil {
		d = newDispatcher(w, media)
		w.dispatchers[media] = d
	}
	return d
}

// Pause lets no process make calls like c for d, at most PauseMax. ScopeApp pauses the calls of its app to its
// endpoint, ScopeAccount those for its account to its endpoint, ScopePlatform all calls to its media. It is called
// after an over-limit answer. The pause lasts at least the Penalty of the rules that cover the call, and never
// shortens a longer one. A d of 0 or less ends a pause. On an error only this process keeps the pause.
//
// A pause also tightens the limits of the scope that cover the call, because the platform allows less than they
// define: by a tenth at a time, down to a half. They are whole again within 10 minutes.
func (w *Waiter) Pause(ctx context.Context, c grant.Call, scope grant.Scope, d time.Duration) error {
	w.metrics.paused.WithLabelValues(c.Media, string(scope)).Inc()
	point, dispatcher := grant.PausePoint(c, scope), w.dispatcher(c.Media)
	if d > 0 {
		d = max(d, w.rules.Penalty(c, scope))
	}
	d = min(d, grant.PauseMax)
	dispatcher.pause(point, clock.Mark().Add(d))
	if err := w.ledger.Pause(ctx, point, d); err != nil || d <= 0 {
		return err
	}
	return w.tighten(ctx, c, scope, func(grant.Key) bool { return true })
}

// EndPause ends a pause in all processes. On an error only this process has ended it. The others keep it until it is
// over, or until Redis answers again and EndPause is called again.
func (w *Waiter) EndPause(ctx context.Context, p grant.PauseState) error {
	point := grant.Key{Media: p.Media, Endpoint: p.Endpoint, Scope: p.Scope, Subject: p.Subject}
	w.dispatcher(p.Media).pause(point, clock.Mark())
	return w.ledger.Pause(ctx, point, 0)
}

// Usage is what a platform reports of a limit: the part of the calls in its running period that is left, 0 to 1.
type Usage struct {
	Period time.Duration
	Left   float64
}

// Used applies the usage that the platform reports for the limits of a scope at the endpoint of c. If less of a limit
// is left than half of what our share leaves alone, others use it too, and it is tightened as by Pause. On an error
// only this process applies it.
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
	for limit, whole := range w.dispatcher(c.Media).tighten(c, scope, which) {
		w.metrics.tightened.WithLabelValues(c.Media).Inc()
		if err := w.ledger.Pause(ctx, limit, whole); err != nil {
			return err
		}
	}
	return nil
}

// failed counts an error of Wait and adds the call to it.
func (w *Waiter) failed(c grant.Call, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		w.metrics.wouldExceed.WithLabelValues(c.Media).Inc()
		if _, named := errors.AsType[*WaitError](err); !named {
			// The deadline passed during a request to Redis or while the granted moment was awaited.
			err = &WaitError{Call: c, Key: grant.Key{Media: c.Media, Endpoint: c.Endpoint}}
		}
		return err
	}
	return fmt.Errorf("wait to call %s %s: %w", c.Media, c.Endpoint, err)
}
