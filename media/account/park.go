package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/media"
)

// LifeOptions are what the probe, and what parks accounts, work with.
type LifeOptions struct {
	Platform   media.Platform
	Store      *store.Store
	Calls      Calls
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

type lifeMetrics struct {
	parked   *prometheus.CounterVec
	returned *prometheus.CounterVec
	woken    *prometheus.CounterVec
	probes   *prometheus.CounterVec
}

func newLifeMetrics(r prometheus.Registerer) *lifeMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return media.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	return &lifeMetrics{
		parked:   counter("adsync_account_parked_total", "Accounts that were parked, by what their platform said: frozen, revoked, or login for one that waits for a person.", "media", "reason"),
		returned: counter("adsync_account_returned_total", "Parked accounts that can be pulled again.", "media"),
		woken:    counter("adsync_account_woken_total", "Inactive accounts in which a probe found figures of the present day.", "media"),
		probes:   counter("adsync_account_probe_calls_total", "API calls that probes made.", "media"),
	}
}

// Parks wraps a handler of an account's pulls: when one ends with an error that says that the account itself is closed to us,
// the account is parked with the platform's words. Since the same words may speak of an endpoint alone, the account's figures
// are asked for first; only if they cannot be had either is it parked. The error stays what it is.
func (o LifeOptions) Parks(h media.Handler) media.Handler {
	if h.Target != media.Accounts {
		return h
	}
	metrics, run := newLifeMetrics(o.Registerer), h.Run
	h.Run = func(ctx context.Context, work media.Work) (media.Result, error) {
		result, err := run(ctx, work)
		if e, ok := errors.AsType[*media.Error](err); ok && e.Parks != "" && work.AccountID != 0 {
			calls, parkErr := o.parkIfClosed(ctx, work.AccountID, metrics)
			result.Calls += calls
			if parkErr != nil {
				// The subtask's own error stands: it is no less true. The next one parks it.
				o.Logger.Warn("an account may have to be parked and could not be looked at", "media", o.Platform.Name(), "account_id", work.AccountID, "err", parkErr)
			}
		}
		return result, err
	}
	return h
}

func (o LifeOptions) parkIfClosed(ctx context.Context, id int64, metrics *lifeMetrics) (calls int, err error) {
	row, err := o.Store.Account(ctx, id)
	if err != nil || row.Parked != "" {
		return 0, err
	}
	account, err := asked(row)
	if err != nil {
		return 0, err
	}
	asker, err := newAsker(o.Platform, o.Calls)
	if err != nil {
		return 0, err
	}
	now := o.Clock.Now()
	answers, err := asker.ask(ctx, []media.Account{account}, now)
	calls = int(asker.made.Load())
	if err != nil {
		return calls, err
	}
	if reason := closed(answers[id].err); reason != "" {
		err = o.park(ctx, row, reason, answers[id].err, now, metrics)
	}
	return calls, err
}

// closed is why an account is closed to us, if that is what an error says.
func closed(err error) media.Parking {
	if e, ok := errors.AsType[*media.Error](err); ok {
		return e.Parks
	}
	return ""
}

// parkedText is what media_account.parked says: the reason, and the platform's own words.
func parkedText(reason media.Parking, err error) string {
	if e, ok := errors.AsType[*media.Error](err); ok {
		return string(reason) + ": " + e.Error()
	}
	return string(reason)
}

func (o LifeOptions) park(ctx context.Context, a store.Account, reason media.Parking, cause error, now time.Time, metrics *lifeMetrics) error {
	parked, err := o.Store.ParkAccount(ctx, a.ID, parkedText(reason, cause), now)
	if err != nil || !parked {
		return err
	}
	metrics.parked.WithLabelValues(o.Platform.Name(), string(reason)).Inc()
	o.Logger.Warn("an account is parked: nothing of it is pulled until a probe can", "media", o.Platform.Name(), "account_id", a.ID,
		"account", a.ExternalID, "reason", string(reason), "err", cause, "next_probe", now.Add(store.ParkGap(1)))
	return nil
}
