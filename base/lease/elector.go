package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/service"
)

// pollInterval is how often a follower reads the row. A leader that resigned is replaced within it.
const pollInterval = time.Second

// LeadFunc does the leader's work until ctx ends, and then returns soon. It may return earlier with ErrStaleLease if
// one of its writes was refused. It is then called again when a new term has begun.
type LeadFunc func(ctx context.Context, l Lease) error

// Elector campaigns for the lease and leads while it holds it.
type Elector struct {
	table  Table
	ttl    time.Duration
	lead   LeadFunc
	logger *slog.Logger
	holder string

	mu      sync.Mutex
	current Lease // zero while another leads

	stopOnce sync.Once
	cancel   context.CancelFunc
	done     chan struct{} // nil before Start
}

var _ service.Service = (*Elector)(nil)

// New returns an elector with its own holder name. A term lasts ttl from its last renewal. Three renewals fit into
// it.
func New(table Table, ttl time.Duration, lead LeadFunc, logger *slog.Logger) *Elector {
	return &Elector{table: table, ttl: ttl, lead: lead, logger: logger, holder: rand.Text()}
}

// Start begins to campaign.
func (e *Elector) Start(ctx context.Context) error {
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.done = make(chan struct{})
	go e.run(ctx)
	return nil
}

// Stop ends the current term, if any: it waits until the leader's work has returned, renewing meanwhile, and resigns.
func (e *Elector) Stop() {
	e.stopOnce.Do(func() {
		if e.done != nil {
			e.cancel()
			<-e.done
		}
	})
}

// Current returns the lease that this process holds now.
func (e *Elector) Current() (Lease, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current, e.current != Lease{}
}

func (e *Elector) setCurrent(l Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current = l
}

func (e *Elector) run(ctx context.Context) {
	defer close(e.done)
	failing := false
	for ctx.Err() == nil {
		sent := clock.Mark()
		l, free, err := e.campaign(ctx)
		switch {
		case err != nil:
			if !failing {
				e.logger.Warn("cannot campaign for the lead", "err", err)
			}
			failing = true
			_ = clock.Sleep(ctx, pollInterval)
			continue
		case l == Lease{}:
			failing = false
			// A killed leader is replaced when its term ends, not at the next poll.
			_ = clock.Sleep(ctx, min(max(free, 10*time.Millisecond), pollInterval))
			continue
		}
		failing = false
		e.term(ctx, l, sent)
	}
}

// campaign continues while the program stops: a won term whose answer is lost would make all others wait for its end.
func (e *Elector) campaign(ctx context.Context) (Lease, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.ttl/3)
	defer cancel()
	return e.table.Campaign(ctx, e.holder, e.ttl)
}

// trust is how long a term is relied on, counted from before its last renewal was sent. The rest of ttl is the margin
// for clocks that run at different speeds and for the work to notice.
func (e *Elector) trust() time.Duration { return e.ttl * 5 / 6 }

// term leads and renews until the lease is lost, the work returns, or ctx ends.
func (e *Elector) term(ctx context.Context, l Lease, sent time.Time) {
	e.logger.Info("leading", "epoch", l.Epoch)
	e.setCurrent(l)
	working, stop := context.WithCancel(ctx)
	defer stop()
	returned := make(chan error, 1)
	go func() { returned <- e.lead(working, l) }()

	trusted := time.NewTimer(e.trust() - clock.Since(sent))
	defer trusted.Stop()
	renew := time.NewTicker(e.ttl / 4)
	defer renew.Stop()
	held, why := true, "stopped"
	for {
		select {
		case err := <-returned:
			e.setCurrent(Lease{})
			if errors.Is(err, ErrStaleLease) {
				held, why = false, "another producer took over"
			} else if err != nil {
				why = err.Error()
			}
			if held {
				e.resign(ctx, l)
			}
			e.logger.Info("no longer leading", "epoch", l.Epoch, "reason", why)
			if ctx.Err() == nil {
				_ = clock.Sleep(ctx, pollInterval)
			}
			return
		case <-trusted.C:
			// The lease may still be held, but this cannot be confirmed in time.
			why = "the lease could not be renewed in time"
			e.setCurrent(Lease{})
			stop()
		case <-renew.C:
			sent = clock.Mark()
			err := e.renew(ctx, l)
			switch {
			case err == nil:
				trusted.Reset(e.trust() - clock.Since(sent))
			case errors.Is(err, ErrStaleLease):
				held, why = false, "another producer took over"
				e.setCurrent(Lease{})
				stop()
			default:
				e.logger.Warn("cannot renew the lease", "epoch", l.Epoch, "err", err)
			}
		}
	}
}

// renew continues while the program stops: a new leader's writes must not overtake the work's last batch.
func (e *Elector) renew(ctx context.Context, l Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.ttl/6)
	defer cancel()
	return e.table.Renew(ctx, l, e.ttl)
}

func (e *Elector) resign(ctx context.Context, l Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.ttl/6)
	defer cancel()
	if err := e.table.Resign(ctx, l); err != nil {
		e.logger.Warn("cannot resign: the next leader waits for the end of the lease", "epoch", l.Epoch, "err", err)
	}
}
