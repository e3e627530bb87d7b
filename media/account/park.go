package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/media"
)

// LifeOptions holds what the probe and the parking of accounts use.
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
		parked: counter("adsync_account_parked_total",
			"Accounts that were parked, by reason: frozen, revoked, or login when the login waits for a person.",
			"media", "reason"),
		returned: counter("adsync_account_returned_total", "Parked accounts that a probe took back.", "media"),
		woken: counter("adsync_account_woken_total",
			"Inactive accounts in which a probe found figures of the present day.", "media"),
		probes: counter("adsync_account_probe_calls_total", "API calls that probes made.", "media"),
	}
}

// Parks wraps a handler of an account's pulls. When a pull ends with an error that may mean that the account itself
// is closed to us, Parks requests the account's figures: the same error may concern a single endpoint. If the figures
// are refused too, it parks the account with the platform's words. The subtask then waits until the account is
// unparked, as do subtasks of an account that is parked already. If the figures cannot be requested now, the subtask
// is retried. In all other cases, and where the account is no longer bound, the error is returned unchanged.
func (o LifeOptions) Parks(h media.Handler) media.Handler {
	if h.Target != media.Accounts {
		return h
	}
	metrics, run := newLifeMetrics(o.Registerer), h.Run
	h.Run = func(ctx context.Context, work media.Work) (media.Result, error) {
		result, err := run(ctx, work)
		if e, ok := errors.AsType[*media.Error](err); ok && e.Parks != "" && work.AccountID != 0 {
			reason, calls, parkErr := o.parkIfClosed(ctx, work.AccountID, metrics)
			result.Calls += calls
			switch {
			case reason != "":
				return result, media.WaitForParked(work.AccountID, reason)
			case parkErr != nil:
				return result, notAsked(e, parkErr)
			}
		}
		return result, err
	}
	return h
}

// notAsked returns the error of a subtask for which it could not be found out whether its account or only an endpoint
// is closed. The subtask waits as long as why waits, and otherwise is retried.
func notAsked(refused *media.Error, why error) error {
	if d, ok := errors.AsType[*media.DeferError](why); ok {
		return d
	}
	return &media.Error{Class: media.Transient, Code: refused.Code, Message: refused.Message,
		Err: fmt.Errorf("cannot find out whether the account itself is closed: %w", why)}
}

// parkIfClosed parks an account whose figures are closed to us too, and returns the reason. It returns "" if the
// account is not parked or not bound.
func (o LifeOptions) parkIfClosed(ctx context.Context, id int64, metrics *lifeMetrics) (reason string, calls int,
	err error) {
	row, err := o.Store.Account(ctx, id)
	if err != nil || !row.Bound || row.Parked != "" {
		if !row.Bound {
			return "", 0, err
		}
		return row.Parked, 0, err
	}
	account, err := asked(row)
	if err != nil {
		return "", 0, err
	}
	asker, err := newAsker(o.Platform, o.Calls)
	if err != nil {
		return "", 0, err
	}
	now := o.Clock.Now()
	answers, err := asker.ask(ctx, []media.Account{account}, now)
	calls = int(asker.made.Load())
	if err != nil {
		return "", calls, err
	}
	got := answers[id].err
	why := closed(got)
	if why == "" {
		return "", calls, got
	}
	return parkedText(why, got), calls, o.park(ctx, row, why, got, now, metrics)
}

// closed returns the parking that an error calls for, or "".
func closed(err error) media.Parking {
	if e, ok := errors.AsType[*media.Error](err); ok {
		return e.Parks
	}
	return ""
}

// parkedText returns the text of media_account.parked: the reason and the platform's own words.
func parkedText(reason media.Parking, err error) string {
	if e, ok := errors.AsType[*media.Error](err); ok {
		return string(reason) + ": " + e.Error()
	}
	return string(reason)
}

func (o LifeOptions) park(ctx context.Context, a settings.Account, reason media.Parking, cause error, now time.Time,
	metrics *lifeMetrics) error {
	parked, err := o.Store.ParkAccount(ctx, a.ID, parkedText(reason, cause), now)
	if err != nil || !parked {
		return err
	}
	metrics.parked.WithLabelValues(o.Platform.Name(), string(reason)).Inc()
	o.Logger.Warn("account parked: not pulled until a probe succeeds", "media", o.Platform.Name(),
		"account_id", a.ID,
		"account", a.ExternalID, "reason", string(reason), "err", cause, "next_probe", now.Add(settings.ParkGap(1)))
	return nil
}
