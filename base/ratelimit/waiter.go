package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	limiter Limiter
	queues  *queues
	metrics *metrics
}

// New returns a Waiter that shares its limits with all processes on the same Redis and keys, and keeps to this process's
// part of them while Redis is away. It starts nothing and asks nothing of Redis yet. There can be one for each reg.
func New(cfg Config, client goredis.UniversalClient, keys redis.Keys, rules *Rules, reg prometheus.Registerer, log *slog.Logger) *Waiter {
	m := newMetrics(reg)
	return &Waiter{rules: rules, queues: newQueues(), metrics: m, limiter: &fallback{
		common:  NewRedis(client, keys, cfg.ArrivalSpread, log),
		own:     NewLocal(cfg.ArrivalSpread, cfg.Members),
		timeout: cfg.RedisTimeout,
		log:     log,
		metrics: m,
	}}
}

// NewWaiter returns a Waiter for a limiter of the caller's choice. There can be one for each reg; nil means no metrics.
func NewWaiter(limiter Limiter, rules *Rules, reg prometheus.Registerer) *Waiter {
	return &Waiter{rules: rules, queues: newQueues(), metrics: newMetrics(reg), limiter: limiter}
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
// spread. Of the calls of one process that one and the same limit holds back the more important ones go first (WithImportance), and of
// these those whose turn is first (WithTurn); less important ones have an eighth of the grants.
//
// It returns a *WaitError as soon as it is known that the grant would come after the deadline of ctx, at the latest at the
// deadline, and another error when ctx was cancelled. Without a deadline it waits for as long as it takes.
func (w *Waiter) Wait(ctx context.Context, c Call) error {
	tell(ctx, beforeWaitKey{})
	began := clock.Mark()
	keys := w.rules.Keys(c)
	for try := 1; ; try++ {
		g, err := w.stand(ctx, c, keys)
		if err == nil {
			err = sleep(ctx, g.Delays[0])
		}
		if err != nil {
			return w.failed(c, err)
		}
		if try < grantTries && clock.Mark().After(g.Until) {
			w.metrics.late.WithLabelValues(c.Media).Inc()
			continue
		}
		w.metrics.taken.WithLabelValues(c.Media).Inc()
		w.metrics.wait.WithLabelValues(c.Media).Observe(clock.Since(began).Seconds())
		tell(ctx, grantedKey{})
		return nil
	}
}

// Pause lets no process make calls like c for d, at most PauseMax: with ScopeApp those of its app to its endpoint, with
// ScopeAccount those for its account to its endpoint, with ScopePlatform all to its media. It is what an over-limit
// answer asks for. It never shortens a longer pause; a d of 0 or less ends one. On an error this process alone keeps the pause.
func (w *Waiter) Pause(ctx context.Context, c Call, scope Scope, d time.Duration) error {
	w.metrics.paused.WithLabelValues(c.Media, string(scope)).Inc()
	return w.limiter.Pause(ctx, pausePoint(c, scope), d)
}

// stand takes one grant, in turn.
func (w *Waiter) stand(ctx context.Context, c Call, keys []Key) (Grant, error) {
	rank, turn := Importance(ctx), TurnOf(ctx)
	place := w.queues.join(keys, rank, turn)
	if place != nil {
		w.metrics.waiting.WithLabelValues(c.Media).Inc()
	}
	defer func() {
		if place != nil {
			w.queues.leave(place)
			w.metrics.waiting.WithLabelValues(c.Media).Dec()
		}
	}()
	for {
		if place != nil {
			if err := w.turn(ctx, c, place); err != nil {
				return Grant{}, err
			}
			if next := w.queues.move(place, keys); next != place {
				place = next
				continue
			}
		}
		g, err := w.limiter.Take(ctx, keys, 1)
		if err != nil {
			return Grant{}, err
		}
		if g.N > 0 {
			if g.RetryAfter > 0 {
				// The next in the queue need not ask to learn this.
				w.queues.tell(g.By, g.RetryAfter)
			}
			return g, nil
		}
		w.metrics.refused.WithLabelValues(c.Media).Inc()
		if place != nil && place.queue.id == g.By.id() {
			w.queues.tell(g.By, g.RetryAfter)
			continue
		}
		// Another limit than the one waited for holds the call back: it must not hold back those behind it.
		next := w.queues.stand(g.By, g.RetryAfter, rank, turn)
		if place == nil {
			w.metrics.waiting.WithLabelValues(c.Media).Inc()
		} else {
			w.queues.leave(place)
		}
		place = next
	}
}

// turn waits until the ticket is at the head of its queue and the queue's limit may have room.
func (w *Waiter) turn(ctx context.Context, c Call, t *ticket) error {
	late := func(o outlook) error {
		return &WaitError{Call: c, Key: o.key, After: max(0, clock.Until(o.at))}
	}
	hopeless := func(o outlook) bool {
		left, ok := clock.Left(ctx)
		return ok && o.fresh && clock.Until(o.at) > left
	}
	ended := func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return late(w.queues.outlook(t))
		}
		return ctx.Err()
	}
	if o := w.queues.outlook(t); hopeless(o) {
		return late(o)
	}
	select {
	case <-t.head:
	case <-ctx.Done():
		return ended()
	}
	for {
		o := w.queues.outlook(t)
		d := clock.Until(o.at)
		// A head that waits long asks again: what it was told may no longer be so.
		if d <= 0 || !o.fresh {
			return nil
		}
		if hopeless(o) {
			return late(o)
		}
		if err := sleep(ctx, min(d, trust)); err != nil {
			return ended()
		}
	}
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
