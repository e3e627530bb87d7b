package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
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
	// probeEvery is how often a process asks the common ledger whether it is back.
	probeEvery = time.Second
	// lookSlack is how much earlier than this process another may notice the same loss.
	lookSlack = 500 * time.Millisecond
	// meetFor is how long a process that has never asked the common ledger waits: by then all that went on with their own parts have heard of it.
	meetFor = grant.PartMost + 100*time.Millisecond
	// knownAfter is how long after it has met the common ledger all others count a process among them.
	knownAfter = 3 * touchEvery
	// barredMost is how long a process believes that others use another server than the one that it reaches. It is longer than two servers take
	// writes after a failover: 7 s were seen with Redis Sentinel.
	barredMost = 15 * time.Second
)

// fallback asks a common ledger for the calls of one media, and this process's own while the common one is away.
type fallback struct {
	media   string
	common  grant.Ledger
	own     *grant.Memory
	timeout time.Duration
	log     *slog.Logger
	metrics *metrics
	process string
	witness Witness     // may be nil
	reserve int         // for how many processes there are parts at least, as this one was told
	reached atomic.Bool // the common ledger has answered since the witness was told

	mu        sync.Mutex
	awaySince time.Time // zero while the common ledger answers
	cause     error     // why it did not answer last
	missed    time.Time // when it was not there last
	nextProbe time.Time
	met       time.Time // when the common ledger answered first
	owes      bool      // the common ledger has to be told of the absence: this process has granted itself calls, or the ledger may have lost some
	ownUntil  time.Time // it grants nothing before this: meanwhile this process grants its own part
	members   int       // that reached the common ledger, as last known
	none      bool      // it has no part: others reach the common ledger, or had all parts before it began

	server  string    // that keeps the limits, as this process uses it; empty before its first answer
	noted   string    // the one that all use, as the witness has it
	movedAt time.Time // when this process changed that
	moved   bool      // and has not told the common ledger yet
	seen    bool      // the witness has been looked at
	others  bool      // other processes reach the common ledger
	barred  time.Time // since when this process makes no calls; zero while it may
	why     string    // it does not: it reaches another server than they use, or cannot record the one that it reaches
}

var _ grant.Ledger = (*fallback)(nil)

func newFallback(media string, common grant.Ledger, own *grant.Memory, timeout time.Duration, log *slog.Logger, m *metrics) *fallback {
	m.fallback.WithLabelValues(media).Set(0)
	return &fallback{media: media, common: common, own: own, timeout: timeout, log: log.With("media", media), metrics: m, reserve: own.Members}
}

// Ask implements ledger.
func (f *fallback) Ask(ctx context.Context, media string, a grant.Ask) (grant.Answer, error) {
	use := f.use()
	if use == useOwn {
		return f.alone(ctx, media, a)
	}
	var got grant.Answer
	pausings, wasAway := f.own.Pausings(), f.isAway()
	if use != useCommon || wasAway {
		pausings = -1 // The common ledger does not know all that this process does.
	}
	err := f.try(ctx, func(ctx context.Context) (err error) {
		got, err = f.common.Ask(ctx, media, use.of(a))
		return err
	})
	if err == nil {
		agreed, changed := f.agreed(ctx, got.Server, wasAway)
		if !agreed || changed {
			pausings = -1 // Another server may not know all that the one before it did.
		}
		if changed {
			f.carry(ctx)
		}
		f.sync(ctx, &got, pausings)
		switch {
		case !agreed:
		case use == useCommon:
			return got, nil
		default:
			f.returned(use, got.Asked)
		}
	} else if callerGaveUp(ctx) {
		return grant.Answer{}, gaveUp(ctx)
	}
	return f.alone(ctx, media, a)
}

// agreed reports whether all processes use the server that has answered, and whether this process used another one before. A server that is new to
// this process takes the place of the one before it: that is recorded, and both grant nothing until no other process uses the old one. A process that
// comes upon the old one is barred: it grants nothing until it reaches the other.
func (f *fallback) agreed(ctx context.Context, server string, wasAway bool) (ok, changed bool) {
	if f.witness == nil || server == "" {
		return true, false
	}
	f.mu.Lock()
	changed = f.server != "" && f.server != server
	if server == f.noted {
		f.useServer(ctx, server)
		f.mu.Unlock()
		return true, changed
	}
	now, noted := f.own.Clock(), f.noted
	alone := f.seen && !f.others
	if noted != "" && !changed && !alone && (f.barred.IsZero() || now.Sub(f.barred) < barredMost) {
		f.bar(ctx, now, nil)
		f.mu.Unlock()
		return false, changed
	}
	f.mu.Unlock()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), witnessTimeout)
	defer cancel()
	recorded, moved, err := f.witness.Move(bounded, f.media, noted, server)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.movedAt = f.own.Clock()
	if err != nil {
		f.bar(ctx, now, err)
		return false, changed
	}
	f.noted = recorded
	if recorded != server {
		f.bar(ctx, now, nil)
		return false, changed
	}
	f.useServer(ctx, server)
	if noted == "" || !moved {
		return true, changed
	}
	f.log.InfoContext(ctx, "another server of redis keeps the limits now: it grants nothing until no process uses the one before it")
	if f.moved = true; !wasAway {
		f.own.Spend(grant.Microseconds(grant.Hush))
	}
	return false, changed
}

// useServer notes the server that this process and all others use.
func (f *fallback) useServer(ctx context.Context, server string) {
	if !f.barred.IsZero() {
		f.log.InfoContext(ctx, "this process reaches the server of redis that the others use")
	}
	f.server, f.barred = server, time.Time{}
}

const (
	othersServer = "other processes use another server of redis: this one makes no calls until it reaches that one"
	notRecorded  = "the server of redis that keeps the limits cannot be recorded: this process makes no calls until it can"
)

// bar stops the calls of this process, until it uses a server again: since it cannot record the server that it reaches, or since others use another. It
// logs why, once.
func (f *fallback) bar(ctx context.Context, now time.Time, err error) {
	if !f.barred.IsZero() {
		return
	}
	f.barred, f.why = now, othersServer
	if err != nil {
		f.why = notRecorded
		f.log.WarnContext(ctx, notRecorded, "err", err)
		return
	}
	f.log.WarnContext(ctx, othersServer)
}

func (f *fallback) isBarred() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.barred.IsZero()
}

// sync has this process know the pauses that an answer names, and the common ledger those that it has lost.
func (f *fallback) sync(ctx context.Context, got *grant.Answer, pausings int) {
	if got.Lost {
		f.log.WarnContext(ctx, "redis has lost the pauses: this process names those that it knows")
		pausings = -1
		f.carry(ctx)
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

// alone asks this process's own ledger.
func (f *fallback) alone(ctx context.Context, media string, a grant.Ask) (grant.Answer, error) {
	if f.isBarred() {
		f.own.Spend(grant.HorizonTime)
	}
	got, err := f.own.Ask(ctx, media, a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.awaySince.IsZero() && slices.ContainsFunc(got.Wants, func(g grant.Given) bool { return len(g.Starts) > 0 }) {
		f.owes = true
	}
	return got, err
}

// use is what an ask is put to.
type use int

const (
	useOwn    use = iota // this process's own ledger
	useCommon            // the common ledger
	tellBack             // the common ledger, which is told that this process was without it
	tellMoved            // the common ledger, which is told that it has taken the place of another
	meet                 // the common ledger, of which nothing is wanted yet
)

// of is what the common ledger is asked.
func (u use) of(a grant.Ask) grant.Ask {
	a.Back, a.Moved = u == tellBack || u == tellMoved, u == tellMoved
	if u == meet {
		a.Wants = nil
	}
	return a
}

// returned notes that the common ledger was told of an absence, or met, at a moment. Told of one it grants nothing within its horizon from then on.
func (f *fallback) returned(by use, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.met.IsZero() {
		f.met = f.own.Clock()
	}
	if by == meet {
		// It may have been away for others, who have not looked yet and go on with their parts: no calls until they have.
		f.ownUntil = at.Add(meetFor)
		f.own.Spend(meetFor + grant.Microseconds(grant.OwnHorizon))
		return
	}
	quiet := grant.HorizonTime
	if by == tellMoved {
		quiet = grant.Microseconds(grant.Hush)
	}
	if at.Sub(f.missed) > grant.PartMost {
		// It has not looked for a while. Others that were quicker to come back may have been granted all that there is within that time.
		f.own.Spend(quiet)
	}
	f.owes, f.moved, f.ownUntil = false, false, at.Add(quiet-2*grant.Microseconds(grant.OwnHorizon))
}

// Pause implements ledger. A pause is always noted in this process too; the error says that no other process knows of it yet.
func (f *fallback) Pause(ctx context.Context, point grant.Key, d time.Duration) error {
	// The platform said so, and holding back is never wrong: the caller's giving up does not undo it here.
	if err := f.own.Pause(context.WithoutCancel(ctx), point, d); err != nil {
		return err
	}
	return f.try(ctx, func(ctx context.Context) error { return f.common.Pause(ctx, point, d) })
}

// listen implements ledger. A loss that it is told of counts from then on, not from the next ask: what this process was granted lasts while what
// others may have been granted lapses.
func (f *fallback) Listen(ctx context.Context, media string, told func(grant.Key, time.Duration), _ func(error)) {
	heard := func(point grant.Key, d time.Duration) {
		_ = f.own.Pause(ctx, point, d) // Nothing can be told when ctx has ended.
		told(point, d)
	}
	f.common.Listen(ctx, media, heard, func(err error) { f.away(ctx, err) })
}

// see takes note of what the witness had recorded when a look at it began. While the common ledger is away this process has no part of the limits if
// others have the whole: those that reach the common ledger, or those that did before this process, if they do not count it among them yet.
func (f *fallback) see(ctx context.Context, s Sight, began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if server := s.Servers[f.media]; server != "" && began.After(f.movedAt) {
		f.noted = server
	}
	within := lookBack
	if !f.awaySince.IsZero() {
		within = min(lookBack, max(lookEvery, f.own.Clock().Sub(f.awaySince)-lookSlack))
	}
	members, others, last := f.countReached(s.Reached, within)
	f.seen, f.others = true, others
	if f.awaySince.IsZero() {
		if members > 0 {
			f.members = members
		}
		return
	}
	known := !f.met.IsZero() && f.awaySince.Sub(f.met) > knownAfter
	full := !known && last >= f.reserve
	none := others || full
	if none {
		f.own.Spend(f.patience(false))
	}
	switch {
	case none == f.none:
	case others:
		f.log.WarnContext(ctx, "other processes reach redis and share the whole rate limits: this one makes no calls")
	case full:
		f.log.WarnContext(ctx, "this process has begun without redis, and those before it have all parts of the rate limits: it makes no calls until redis is back",
			"processes", last, "members", f.reserve)
	default:
		f.log.WarnContext(ctx, "no other process reaches redis either: this one keeps to its own part of the rate limits", "members", f.own.Parts())
	}
	f.none = none
}

// countReached returns how many processes reach the Redis of this media, whether any other has reached it within a time, and how many others had when
// it was reached last.
func (f *fallback) countReached(all []Reach, within time.Duration) (members int, others bool, last int) {
	ago := map[string]time.Duration{}
	newest := time.Duration(math.MaxInt64)
	for _, r := range all {
		if r.Media != "" && r.Media != f.media {
			continue
		}
		if before, known := ago[r.Process]; !known || r.Ago < before {
			ago[r.Process] = r.Ago
		}
		newest = min(newest, r.Ago)
	}
	for process, d := range ago {
		if d < memberLife {
			members++
		}
		if process == f.process {
			continue
		}
		others = others || d < within
		if d < newest+memberLife {
			last++
		}
	}
	return members, others, last
}

// patience is how long after a loss this process grants itself nothing: until what was granted before has lapsed, and the witness has told of others.
// The common ledger that did not answer in time may also have stood still and have come back since, for others that did not notice: they are granted calls
// unless nobody asked it for so long, and until this process has found it back.
func (f *fallback) patience(silence bool) time.Duration {
	d := grant.HorizonTime
	if silence {
		d = max(d, grant.Microseconds(grant.Unasked)+probeEvery+lookEvery-f.timeout)
	}
	if f.witness != nil {
		d = max(d, grant.HorizonTime+2*lookEvery)
	}
	return d
}

// use tells what an ask should be put to: the common ledger as long as it answers, else once each second.
func (f *fallback) use() use {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.own.Clock()
	switch {
	case now.Before(f.ownUntil):
		return useOwn
	case f.awaySince.IsZero() && f.barred.IsZero():
	case now.Before(f.nextProbe):
		return useOwn
	default:
		f.nextProbe = now.Add(probeEvery)
	}
	switch {
	case !f.barred.IsZero():
		return meet
	case f.moved:
		return tellMoved
	case f.owes:
		return tellBack
	case f.met.IsZero():
		return meet
	}
	return useCommon
}

// try asks the common ledger and takes note of whether it answered. A caller that gave up says nothing about that.
func (f *fallback) try(ctx context.Context, do func(context.Context) error) error {
	asked := f.own.Clock()
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := do(bounded)
	switch {
	case err == nil:
		f.reached.Store(true)
		f.back(ctx, asked)
	case !callerGaveUp(ctx):
		f.away(ctx, err)
	}
	return err
}

func (f *fallback) away(ctx context.Context, err error) {
	f.metrics.redisErrors.Inc()
	f.mu.Lock()
	first := f.awaySince.IsZero()
	f.missed, f.cause = f.own.Clock(), err
	if !isTimeout(err) {
		f.owes = true // It may be another one that comes back, or have lost what it had.
	}
	if first {
		f.awaySince, f.ownUntil, f.none = f.own.Clock(), time.Time{}, false
		f.nextProbe = f.awaySince.Add(probeEvery)
		f.own.Divide(max(f.reserve, f.members))
		// What the common ledger granted a moment ago still stands in the platform's window.
		f.own.Spend(f.patience(isTimeout(err)))
	}
	f.mu.Unlock()
	if first {
		f.metrics.fallback.WithLabelValues(f.media).Set(1)
		if redis.Refused(err) {
			f.log.WarnContext(ctx, "redis refuses what is asked of it: this process keeps to its own part of the rate limits", "members", f.own.Parts(), "err", err)
		} else {
			f.log.WarnContext(ctx, "redis does not answer: this process keeps to its own part of the rate limits", "members", f.own.Parts(), "err", err)
		}
	}
}

// back notes that the common ledger answered what it was asked at the moment asked.
func (f *fallback) back(ctx context.Context, asked time.Time) {
	f.mu.Lock()
	since := f.awaySince
	// A late answer to an ask from before it went away says nothing.
	if since.IsZero() || asked.Before(since) {
		f.mu.Unlock()
		return
	}
	f.awaySince = time.Time{}
	f.mu.Unlock()
	f.metrics.fallback.WithLabelValues(f.media).Set(0)
	f.log.InfoContext(ctx, "redis answers again: rate limits are shared by all processes", "away", f.own.Clock().Sub(since).Round(time.Millisecond))
	// Redis may have come back empty, and nobody could tell it what the platforms said meanwhile.
	f.carry(ctx)
}

// carry has the common ledger know the pauses that this process knows. They are for all processes, so the deadline of the call that came upon the need
// does not bound it.
func (f *fallback) carry(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
	defer cancel()
	for point, left := range f.own.InForce() {
		if err := f.common.Pause(bounded, point, left); err != nil {
			f.away(ctx, err)
			return
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
