package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
)

// grantTries is how many grants a call may find ended before it takes the last one as it is. Where the ledger's answers are always that
// slow, they are so for every call, and a delay that all calls have does no harm.
const grantTries = 3

// Waiter waits for grants on behalf of callers. Its methods may be called at the same time.
type Waiter struct {
	rules   *Rules
	ledger  ledger
	process string // by which the others know this one's claims
	spread  time.Duration
	metrics *metrics

	mu    sync.Mutex
	desks map[string]*desk // by media
}

// New returns a Waiter that shares its limits with all processes on the same Redis and keys, and keeps to this process's
// part of them while Redis is away. It starts nothing and asks nothing of Redis yet. There can be one for each reg.
func New(cfg Config, client goredis.UniversalClient, keys redis.Keys, rules *Rules, reg prometheus.Registerer, log *slog.Logger) *Waiter {
	m := newMetrics(reg)
	return newWaiter(&fallback{
		common:  newShared(client, keys, cfg.ArrivalSpread, log),
		own:     newLocal(cfg.ArrivalSpread, cfg.Members),
		timeout: cfg.RedisTimeout,
		log:     log,
		metrics: m,
	}, cfg.ArrivalSpread, rules, m)
}

// NewLocal returns a Waiter of a process that shares its limits with no other, with the arrival spread of Config. There can be one for each
// reg; nil means no metrics.
func NewLocal(spread time.Duration, rules *Rules, reg prometheus.Registerer) *Waiter {
	return newWaiter(newLocal(spread, 1), spread, rules, newMetrics(reg))
}

func newWaiter(l ledger, spread time.Duration, rules *Rules, m *metrics) *Waiter {
	return &Waiter{rules: rules, ledger: l, process: rand.Text()[:10], spread: spread, metrics: m, desks: map[string]*desk{}}
}

// WaitError says that a call's grant would have come after its deadline. It is a context.DeadlineExceeded to errors.Is.
type WaitError struct {
	Call  Call
	Key   Key           // the limit, or the paused point, that holds the call back; without a Limit and a Scope it is not known
	After time.Duration // the call can be granted no earlier than this after the error was returned; 0 is not known
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("call of %s %s: %s would let it wait %s, past its deadline", e.Call.Media, e.Call.Endpoint, e.Key, e.After.Round(time.Millisecond))
}

// Unwrap implements the interface of errors.Is.
func (e *WaitError) Unwrap() error { return context.DeadlineExceeded }

// Wait returns nil when the call may be made, at once: the grant's pace holds only if the request is sent within the arrival
// spread. The calls that a limit holds back share it: the more important ones (WithImportance) have the larger part, none is left without; of
// those of one importance, each process has as much as the others. In a process they go by their turns (WithTurn), but those of an account that
// has had more calls than others after theirs.
//
// It returns a *WaitError as soon as it is known that the grant would come after the deadline of ctx, at the latest at the
// deadline, and another error when ctx was cancelled. Without a deadline it waits for as long as it takes.
func (w *Waiter) Wait(ctx context.Context, c Call) error {
	tell(ctx, beforeWaitKey{})
	began := clock.Mark()
	d := w.desk(c.Media)
	for late := 0; ; {
		t, s, err := d.stand(ctx, c)
		if err == nil {
			if err = sleep(ctx, clock.Until(s.from)); err != nil {
				d.giveBack(t, s)
			}
		}
		if err != nil {
			return w.failed(c, err)
		}
		if d.isPaused(c) {
			continue
		}
		if late++; late < grantTries && clock.Mark().After(s.until) {
			w.metrics.late.WithLabelValues(c.Media).Inc()
			continue
		}
		w.metrics.taken.WithLabelValues(c.Media).Inc()
		w.metrics.wait.WithLabelValues(c.Media).Observe(clock.Since(began).Seconds())
		tell(ctx, grantedKey{})
		return nil
	}
}

// Listen learns of the pauses that other processes order as they do, until ctx ends; without it with the next ask, 2 s later at the most.
func (w *Waiter) Listen(ctx context.Context) {
	w.ledger.listen(ctx, func(point Key, d time.Duration) { w.desk(point.Media).pause(point, clock.Mark().Add(d)) })
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
// answer asks for. It never shortens a longer pause; a d of 0 or less ends one. On an error this process alone keeps the pause.
func (w *Waiter) Pause(ctx context.Context, c Call, scope Scope, d time.Duration) error {
	w.metrics.paused.WithLabelValues(c.Media, string(scope)).Inc()
	point := pausePoint(c, scope)
	d = min(d, PauseMax)
	w.desk(c.Media).pause(point, clock.Mark().Add(d))
	return w.ledger.pause(ctx, point, d)
}

// failed counts and names an error of Wait.
func (w *Waiter) failed(c Call, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		w.metrics.wouldExceed.WithLabelValues(c.Media).Inc()
		if _, named := errors.AsType[*WaitError](err); !named {
			// The deadline came while Redis was asked or the granted moment was awaited.
			err = &WaitError{Call: c, Key: Key{Media: c.Media, Endpoint: c.Endpoint}}
		}
		return err
	}
	return fmt.Errorf("wait to call %s %s: %w", c.Media, c.Endpoint, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
