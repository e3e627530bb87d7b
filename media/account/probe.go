package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/plural"
	"adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/media"
)

// ProbeCallsDefault is how many calls one run of the probe makes at most: with a run every ten minutes, a twentieth
// of the smallest limit that a platform gives an app.
const ProbeCallsDefault = 300

const (
	probeCallsMax = 100_000
	// probesAtOnce is how many calls run at the same time.
	probesAtOnce = 8
	// probeReserve is the time before its deadline in which a run starts no more calls.
	probeReserve = 15 * time.Second
	loginsBatch  = 500
)

type probeParams struct {
	// Calls is how many calls one run makes at most.
	Calls int `json:"calls"`
}

func parseProbe(raw json.RawMessage) (probeParams, error) {
	p := probeParams{Calls: ProbeCallsDefault}
	if err := media.CheckParams(raw, &p); err != nil {
		return p, err
	}
	if p.Calls < 1 || p.Calls > probeCallsMax {
		return p, fmt.Errorf("params.calls: %d is refused: want 1 to %d", p.Calls, probeCallsMax)
	}
	return p, nil
}

// ProbeHandler returns "<media>.probe". It requests today's figures of inactive accounts and makes those active that
// have some. It also requests figures of parked accounts that are due. A run makes a limited number of calls and
// continues where the run before stopped. First it parks the accounts of logins that wait for a person.
func (o LifeOptions) ProbeHandler() media.Handler {
	metrics, causes := newLifeMetrics(o.Registerer), telemetry.NewCauseLog(o.Logger)
	return media.Handler{
		Name:   o.Platform.Name() + ".probe",
		Target: media.Once,
		Check: func(raw json.RawMessage) error {
			_, err := parseProbe(raw)
			return err
		},
		Parts: oncePart("probe"),
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			params, err := parseProbe(work.Params)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			asker, err := newAsker(o.Platform, o.Calls)
			if err != nil {
				return media.Result{}, err
			}
			p := &probe{LifeOptions: o, asker: asker, metrics: metrics, causes: causes, now: o.Clock.Now(),
				skip: map[int64]bool{}}
			err = p.run(ctx, params.Calls)
			calls := int(asker.made.Load())
			metrics.probes.WithLabelValues(o.Platform.Name()).Add(float64(calls))
			return media.Result{Rows: p.changed, Calls: calls}, err
		},
	}
}

// probe is one run.
type probe struct {
	LifeOptions
	asker   *asker
	metrics *lifeMetrics
	causes  *telemetry.CauseLog
	now     time.Time

	mu       sync.Mutex
	changed  int // accounts that were parked, unparked or made active
	answered int
	failed   error // the first error that does not show an account's state
	deferred *media.DeferError
	skip     map[int64]bool // logins that cannot be used now
}

func (p *probe) run(ctx context.Context, calls int) error {
	if err := p.logins(ctx); err != nil {
		return err
	}
	// Parked accounts get at most half of the calls: otherwise very many of them would take all.
	due, err := p.Store.ParkedDue(ctx, p.Platform.Name(), p.now, max(calls/2, 1))
	if err != nil {
		return err
	}
	accounts := slices.Clone(due)
	if left := calls - len(due); left > 0 {
		sleeping, err := p.Store.InactiveAccounts(ctx, p.Platform.Name(), left*p.asker.most(false))
		if err != nil {
			return err
		}
		accounts = append(accounts, sleeping...)
	}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(probesAtOnce)
	for _, batch := range p.batches(accounts) {
		if left, bounded := clock.Left(ctx); working.Err() != nil || (bounded && left < probeReserve) {
			break // The next run starts with the accounts whose last probe is oldest.
		}
		group.Go(func() error { return p.batch(working, batch) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	switch {
	case p.answered > 0:
		return nil
	case p.deferred != nil:
		return p.deferred
	}
	return p.failed
}

// logins parks the accounts of dead logins, and unparks those whose login was authorised just before they were parked.
func (p *probe) logins(ctx context.Context) error {
	n, err := p.Store.ParkDeadLogins(ctx, p.Platform.Name(), p.now)
	if err != nil {
		return err
	}
	p.count(n)
	p.metrics.parked.WithLabelValues(p.Platform.Name(), "login").Add(float64(n))
	for {
		back, err := p.Store.ParkedForUsableLogin(ctx, p.Platform.Name(), loginsBatch)
		if err != nil {
			return err
		}
		for _, a := range back {
			if err := p.unpark(ctx, a); err != nil {
				return err
			}
		}
		if len(back) < loginsBatch {
			return nil
		}
	}
}

// batches cuts accounts into batches for one call each: of one login and zone, so that they have one day, and with
// parked accounts apart, since they may fail the call of others.
func (p *probe) batches(accounts []settings.ProbeAccount) [][]settings.ProbeAccount {
	type kind struct {
		login  int64
		zone   string
		parked bool
	}
	open := map[kind]int{} // the index of the batch that is not full
	var batches [][]settings.ProbeAccount
	for _, a := range accounts {
		k := kind{a.TokenID, a.Timezone, a.Parked != ""}
		at, ok := open[k]
		if !ok || len(batches[at]) >= p.asker.most(k.parked) {
			at = len(batches)
			open[k] = at
			batches = append(batches, nil)
		}
		batches[at] = append(batches[at], a)
	}
	return batches
}

// batch probes accounts of one login. Its error ends the run. A login that cannot be used now is left to the next
// run, and the other logins continue: its tokens are being refreshed, one of its limits is used up, or it is dead.
func (p *probe) batch(ctx context.Context, accounts []settings.ProbeAccount) error {
	if p.skips(accounts[0].TokenID) {
		return nil
	}
	var asks []media.Account
	for _, a := range accounts {
		account, err := asked(a.Account)
		if err != nil {
			p.fail(a, err)
			continue
		}
		asks = append(asks, account)
	}
	if len(asks) == 0 {
		return nil
	}
	answers, err := p.asker.ask(ctx, asks, p.now)
	if d, ok := errors.AsType[*media.DeferError](err); ok {
		p.leave(accounts[0].TokenID, d)
		return nil
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		p.leave(accounts[0].TokenID, nil)
		p.fail(accounts[0], e)
		return nil
	}
	if err != nil {
		return fmt.Errorf("probe %s of login %d: %w", plural.Count(len(asks), "account", "accounts"), accounts[0].TokenID,
			err)
	}
	for _, a := range accounts {
		got, ok := answers[a.ID]
		if !ok {
			continue
		}
		if err := p.settle(ctx, a, got); err != nil {
			return err
		}
	}
	return nil
}

// settle applies a probe's answer to an account.
func (p *probe) settle(ctx context.Context, a settings.ProbeAccount, got answer) error {
	reason := closed(got.err)
	switch {
	case reason != "" && a.Parked != "":
		return p.Store.PostponeProbe(ctx, a, parkedText(reason, got.err), p.now)
	case reason != "":
		p.count(1)
		return p.park(ctx, a.Account, reason, got.err, p.now, p.metrics)
	case got.err != nil:
		p.fail(a, got.err)
		return p.Store.RecordProbe(ctx, a.ID, p.now) // Otherwise each run would start with the same accounts.
	}
	p.mu.Lock()
	p.answered++
	p.mu.Unlock()
	if a.Parked != "" {
		if err := p.unpark(ctx, a); err != nil {
			return err
		}
	}
	if got.spending {
		n, err := p.Store.SetTiers(ctx, []settings.TierChange{{ID: a.ID, From: settings.TierInactive, To: settings.TierActive,
			Reason: reasonProbe}}, p.now)
		if err != nil {
			return err
		}
		p.count(n)
		p.metrics.woken.WithLabelValues(p.Platform.Name()).Add(float64(n))
	}
	return p.Store.RecordProbe(ctx, a.ID, p.now)
}

// unpark makes an account pulled again.
func (p *probe) unpark(ctx context.Context, a settings.ProbeAccount) error {
	done, err := p.Store.Unpark(ctx, a, settings.ReasonReturned, p.now)
	if err != nil || !done {
		return err
	}
	p.count(1)
	p.metrics.returned.WithLabelValues(p.Platform.Name()).Inc()
	p.Logger.Info("account unparked", "media", p.Platform.Name(), "account_id", a.ID, "account",
		a.ExternalID, "was", a.Parked, "parked_since", a.ParkedSince)
	return nil
}

func (p *probe) skips(login int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.skip[login]
}

// leave skips a login until the next run.
func (p *probe) leave(login int64, d *media.DeferError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skip[login] = true
	if p.deferred == nil {
		p.deferred = d
	}
}

func (p *probe) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed += n
}

// fail records an error that does not show the account's state.
func (p *probe) fail(a settings.ProbeAccount, err error) {
	p.causes.Report(slog.LevelWarn, "probe", "accounts cannot be probed", telemetry.OneCause(err), "media",
		p.Platform.Name(), "account_id", a.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}
