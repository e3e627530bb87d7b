package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
)

const (
	// probeEvery is how often a process tries the common ledger while it is away.
	probeEvery = time.Second
	// noticeSlack is how much earlier than this process another may notice the same loss.
	noticeSlack = 500 * time.Millisecond
	// firstQuiet is how long a process waits after its first contact with the common ledger. By then all processes that
	// used their own parts know that the ledger is back.
	firstQuiet = grant.PartMost + 100*time.Millisecond
	// knownAfter is how long after its first contact with the common ledger all others count a process as a member.
	knownAfter = 3 * keepAliveEvery
	// barredMost is how long a process assumes that others use another server than the one it reaches. It is longer than
	// two servers take writes after a failover: 7 s were measured with Redis Sentinel.
	barredMost = 15 * time.Second
)

// fallback requests the grants of one media from a common ledger, and from this process's own ledger while the common
// one is away.
type fallback struct {
	media   string
	common  grant.Ledger
	own     *grant.Memory
	timeout time.Duration
	log     *slog.Logger
	metrics *metrics
	process string
	witness Witness     // may be nil
	reserve int         // the least number of parts, as configured
	reached atomic.Bool // the common ledger has answered since the last record at the witness

	mu          sync.Mutex
	awaySince   time.Time // zero while the common ledger answers
	cause       error     // the error of its last failure
	missed      time.Time // when it last failed to answer
	nextProbe   time.Time
	firstAnswer time.Time // when the common ledger first answered
	// The common ledger must learn of the absence: this process has granted itself calls, or the ledger may have lost
	// some.
	mustReport bool
	ownUntil   time.Time // the common ledger grants nothing before this: until then this process grants its own part
	members    int       // the number of processes that reached the common ledger, as last known
	noPart     bool      // this process has no part: others reach the common ledger, or had all parts before it started

	server         string    // the server that keeps the limits for this process; empty before its first answer
	recordedServer string    // the server that all use, as the witness records
	movedAt        time.Time // when this process changed that record
	moved          bool      // the common ledger has not learned of the move yet
	witnessRead    bool      // the witness has been read
	others         bool      // other processes reach the common ledger
	barred         time.Time // since when this process makes no calls; zero while it may
	// The reason: it reaches another server than the others, or cannot record the one that it reaches.
	why string
}

var _ grant.Ledger = (*fallback)(nil)

func newFallback(media string, common grant.Ledger, own *grant.Memory, timeout time.Duration, log *slog.Logger,
	m *metrics) *fallback {
	m.fallback.WithLabelValues(media).Set(0)
	return &fallback{media: media, common: common, own: own, timeout: timeout, log: log.With("media", media), metrics: m,
		reserve: own.Members}
}

// Request implements grant.Ledger.
func (f *fallback) Request(ctx context.Context, media string, a grant.Request) (grant.Answer, error) {
	x := f.startRequest()
	if x.use == useOwn {
		return f.requestOwn(ctx, media, a)
	}
	var got grant.Answer
	err := f.try(ctx, func(ctx context.Context) (err error) {
		got, err = f.common.Request(ctx, media, x.use.of(a))
		return err
	})
	switch {
	case err == nil && f.accept(ctx, x, &got):
		return got, nil
	case err != nil && callerGaveUp(ctx):
		return grant.Answer{}, gaveUp(ctx)
	}
	return f.requestOwn(ctx, media, a)
}

// requestStart is the state when a request began.
type requestStart struct {
	use use
	at  time.Time
	// The number of pauses that the common ledger knows of; -1 if it does not know all that this process knows.
	pausings int
	wasAway  bool
}

func (f *fallback) startRequest() requestStart {
	x := requestStart{use: f.use(), at: f.own.Clock(), pausings: f.own.Pausings(), wasAway: f.isAway()}
	if x.use != useCommon || x.wasAway {
		x.pausings = -1
	}
	return x
}

// accept applies an answer of the common ledger, and reports whether its grants count.
func (f *fallback) accept(ctx context.Context, x requestStart, got *grant.Answer) bool {
	agreed, changed := f.checkServer(ctx, got.Server, x.wasAway)
	if !agreed || changed {
		x.pausings = -1 // Another server may lack pauses that the one before it knew.
	}
	if changed {
		f.restorePauses(ctx)
	}
	f.syncPauses(ctx, got, x.pausings)
	if agreed && x.use != useCommon {
		f.noteContact(x.use, got.Asked)
	}
	return agreed && x.use == useCommon
}

// syncPauses stores the pauses of an answer in this process, and sends the common ledger those that it has lost.
func (f *fallback) syncPauses(ctx context.Context, got *grant.Answer, pausings int) {
	if got.Lost {
		f.log.WarnContext(ctx, "redis lost the pauses of rate limits: restored from this process")
		pausings = -1
		f.restorePauses(ctx)
		now := f.own.Clock()
		for point, left := range f.own.InForce() {
			got.Pauses[point] = now.Add(left)
		}
	}
	if got.Pauses != nil {
		f.own.Sync(f.media, got.Pauses, pausings)
	}
}

func (f *fallback) isAway() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.awaySince.IsZero()
}

// trouble returns why this process does not use the common ledger; nil while it does.
func (f *fallback) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.own.Clock()
	switch {
	case !f.awaySince.IsZero():
		return fmt.Errorf("away for %s: %w", now.Sub(f.awaySince).Round(time.Second), f.cause)
	case !f.barred.IsZero():
		return fmt.Errorf("%s (for %s)", f.why, now.Sub(f.barred).Round(time.Second))
	}
	return nil
}

// requestOwn requests grants from this process's own ledger.
func (f *fallback) requestOwn(ctx context.Context, media string, a grant.Request) (grant.Answer, error) {
	if f.isBarred() {
		f.own.HoldOff(grant.Horizon)
	}
	got, err := f.own.Request(ctx, media, a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.awaySince.IsZero() && slices.ContainsFunc(got.Wants, func(g grant.Given) bool { return len(g.Starts) > 0 }) {
		f.mustReport = true
	}
	return got, err
}

// Pause implements grant.Ledger. A pause is always kept in this process. The error means that no other process knows
// of it yet.
func (f *fallback) Pause(ctx context.Context, point grant.Key, d time.Duration) error {
	// The platform ordered the pause, and holding back is never wrong. So it is kept even if the caller's context has
	// ended.
	if err := f.own.Pause(context.WithoutCancel(ctx), point, d); err != nil {
		return err
	}
	return f.try(ctx, func(ctx context.Context) error { return f.common.Pause(ctx, point, d) })
}

// Listen implements grant.Ledger. A reported loss counts from its report on, not from the next request: the grants of
// this process last while those of others lapse.
func (f *fallback) Listen(ctx context.Context, media string, onPause func(grant.Key, time.Duration), _ func(error)) {
	relay := func(point grant.Key, d time.Duration) {
		_ = f.own.Pause(ctx, point, d) // It only fails when ctx has ended.
		onPause(point, d)
	}
	f.common.Listen(ctx, media, relay, func(err error) { f.noteLoss(ctx, err) })
}

// try calls the common ledger and records whether it answered. A caller whose context ended proves nothing.
func (f *fallback) try(ctx context.Context, do func(context.Context) error) error {
	sent := f.own.Clock()
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := do(bounded)
	switch {
	case err == nil:
		f.noteAnswer(ctx, sent)
	case !callerGaveUp(ctx):
		f.noteLoss(ctx, err)
	}
	return err
}

// noteAnswer records that the common ledger answered a request that was sent at the time sent.
func (f *fallback) noteAnswer(ctx context.Context, sent time.Time) {
	f.reached.Store(true)
	f.noteReturn(ctx, sent)
}

func (f *fallback) noteLoss(ctx context.Context, err error) {
	f.metrics.redisErrors.Inc()
	f.mu.Lock()
	first := f.awaySince.IsZero()
	f.missed, f.cause = f.own.Clock(), err
	if !isTimeout(err) {
		f.mustReport = true // Another server may come back, or this one without its data.
	}
	if first {
		f.awaySince, f.ownUntil, f.noPart = f.own.Clock(), time.Time{}, false
		f.nextProbe = f.awaySince.Add(probeEvery)
		f.own.SetMembers(max(f.reserve, f.members))
		// Recent grants of the common ledger still count in the platform's window.
		f.own.HoldOff(f.quietAfterLoss(isTimeout(err)))
	}
	f.mu.Unlock()
	if first {
		f.metrics.fallback.WithLabelValues(f.media).Set(1)
		if redis.Refused(err) {
			f.log.WarnContext(ctx, "redis refuses requests: rate limits fall back to this process's part", "members",
				f.own.Parts(), "err", err)
		} else {
			f.log.WarnContext(ctx, "redis does not answer: rate limits fall back to this process's part", "members",
				f.own.Parts(), "err", err)
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}

// callerGaveUp reports whether ctx has ended. A socket notices the deadline a moment before the context does.
func callerGaveUp(ctx context.Context) bool { return gaveUp(ctx) != nil }

func gaveUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if left, ok := clock.Left(ctx); ok && left <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}
