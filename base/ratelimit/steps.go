package ratelimit

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/ratelimit/grant"
)

// Steps are the steps of a process about the calls of one media, one at a time, for a caller that controls time: the
// simulation of package quota. A Waiter takes the same steps in goroutines. Steps are for one goroutine.
type Steps struct {
	all        *fallbacks
	ledger     *fallback
	dispatcher *dispatcher
}

// NewSteps returns the steps of a process on a clock. The caller delivers requests to the common ledger, and its
// loss.
func NewSteps(cfg Config, media, process string, now func() time.Time, witness Witness, rules *grant.Rules) *Steps {
	m := newMetrics(nil)
	all := &fallbacks{
		own:     func() *grant.Memory { return grant.NewMemoryBy(now, cfg.ArrivalSpread, cfg.Members) },
		timeout: cfg.RedisTimeout, process: process, witness: witness,
		log: slog.New(slog.DiscardHandler), metrics: m, byMedia: map[string]*fallback{},
	}
	s := &Steps{all: all, ledger: all.of(media)}
	w := newWaiter(s.ledger, cfg.ArrivalSpread, rules, m)
	w.now, w.process = now, process
	w.start = func(*dispatcher) {} // The caller sends requests when RequestAt is due.
	s.dispatcher = newDispatcher(w, media)
	return s
}

// Place is a call's place in line.
type Place struct{ ticket *ticket }

// Join adds a call to its line.
func (s *Steps) Join(c grant.Call, importance int) Place {
	t := &ticket{call: c, got: make(chan outcome, 1)}
	s.dispatcher.join(t, importance)
	return Place{t}
}

// Waits reports whether the call still waits.
func (p Place) Waits() bool { return p.ticket.waits }

// Slot returns the times between which the call may be sent, once it no longer waits. It may be called once.
func (p Place) Slot() (from, until time.Time, err error) {
	o := <-p.ticket.got
	return o.slot.from, o.slot.until, o.err
}

// RequestAt returns when a request is due; false if none is.
func (s *Steps) RequestAt() (time.Time, bool) { return s.dispatcher.requestAt() }

// KeepAlive sends an empty request if none was sent for a while.
func (s *Steps) KeepAlive() { s.dispatcher.keepAlive() }

// SyncWitness records at the witness what this process reaches, and reads what others do. It is called every
// WitnessEvery.
func (s *Steps) SyncWitness(ctx context.Context) { s.all.syncWitness(ctx) }

// WitnessEvery is how often SyncWitness and KeepAlive are due.
const WitnessEvery = witnessEvery

// Lost records that the common ledger is away, as a listener reports it.
func (s *Steps) Lost(ctx context.Context, err error) { s.ledger.noteLoss(ctx, err) }

// Exchange is a request under way. It ends with Alone, Answered or Failed.
type Exchange struct {
	steps    *Steps
	composed composed
	requestStart
}

// Request begins a request. It returns what to send to the common ledger; false if this process's own ledger answers.
func (s *Steps) Request() (x *Exchange, common grant.Request, ok bool) {
	a := s.dispatcher.compose()
	x = &Exchange{s, a, s.ledger.startRequest()}
	return x, x.use.of(a.Request), x.use != useOwn
}

// Alone has this process's own ledger answer.
func (x *Exchange) Alone(ctx context.Context) {
	got, err := x.steps.ledger.requestOwn(ctx, x.steps.dispatcher.media, x.composed.Request)
	x.steps.dispatcher.deliver(x.composed, got, err)
}

// Answered applies the common ledger's answer.
func (x *Exchange) Answered(ctx context.Context, got grant.Answer) {
	x.steps.ledger.noteAnswer(ctx, x.at)
	if !x.steps.ledger.accept(ctx, x.requestStart, &got) {
		x.Alone(ctx)
		return
	}
	x.steps.dispatcher.deliver(x.composed, got, nil)
}

// Failed records that the common ledger did not answer.
func (x *Exchange) Failed(ctx context.Context, err error) {
	x.steps.ledger.noteLoss(ctx, err)
	x.Alone(ctx)
}
