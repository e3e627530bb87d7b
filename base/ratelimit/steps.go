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
	all    *fallbacks
	ledger *fallback
	desk   *desk
}

// NewSteps returns the steps of a process on a clock. The caller delivers requests to the common ledger, and its
// loss.
func NewSteps(cfg Config, media, process string, now func() time.Time, witness Witness, rules *grant.Rules) *Steps {
	m := newMetrics(nil)
	all := &fallbacks{
		own: func() *grant.Memory { return grant.NewMemoryBy(now, cfg.ArrivalSpread, cfg.Members) }, timeout: cfg.RedisTimeout, process: process, witness: witness,
		log: slog.New(slog.DiscardHandler), metrics: m, byMedia: map[string]*fallback{},
	}
	s := &Steps{all: all, ledger: all.of(media)}
	w := newWaiter(s.ledger, cfg.ArrivalSpread, rules, m)
	w.now, w.process = now, process
	w.begin = func(*desk) {} // The caller sends requests when AskAt is due.
	s.desk = newDesk(w, media)
	return s
}

// Place is a call's place in line.
type Place struct{ ticket *ticket }

// Stand adds a call to its line.
func (s *Steps) Stand(c grant.Call, importance int) Place {
	t := &ticket{call: c, got: make(chan outcome, 1)}
	s.desk.join(t, importance)
	return Place{t}
}

// Waits reports whether the call still waits.
func (p Place) Waits() bool { return p.ticket.waits }

// Slot returns the times between which the call may be sent, once it no longer waits. It may be called once.
func (p Place) Slot() (from, until time.Time, err error) {
	o := <-p.ticket.got
	return o.slot.from, o.slot.until, o.err
}

// AskAt returns when a request is due; false if none is.
func (s *Steps) AskAt() (time.Time, bool) { return s.desk.askAt() }

// Touch sends an empty request if none was sent for a while.
func (s *Steps) Touch() { s.desk.touch() }

// LookAround records at the witness what this process reaches, and reads what others do. It is called every
// LookEvery.
func (s *Steps) LookAround(ctx context.Context) { s.all.tick(ctx) }

// LookEvery is how often LookAround and Touch are due.
const LookEvery = lookEvery

// Lost records that the common ledger is away, as a listener reports it.
func (s *Steps) Lost(ctx context.Context, err error) { s.ledger.away(ctx, err) }

// Asking is a request under way. It ends with Alone, Answered or Failed.
type Asking struct {
	steps *Steps
	asked asked
	asking
}

// Ask begins a request. It returns what to send to the common ledger; false if this process's own ledger answers.
func (s *Steps) Ask() (x *Asking, common grant.Ask, ok bool) {
	a := s.desk.compose()
	x = &Asking{s, a, s.ledger.begin()}
	return x, x.use.of(a.Ask), x.use != useOwn
}

// Alone has this process's own ledger answer.
func (x *Asking) Alone(ctx context.Context) {
	got, err := x.steps.ledger.alone(ctx, x.steps.desk.media, x.asked.Ask)
	x.steps.desk.deliver(x.asked, got, err)
}

// Answered applies the common ledger's answer.
func (x *Asking) Answered(ctx context.Context, got grant.Answer) {
	x.steps.ledger.there(ctx, x.at)
	if !x.steps.ledger.takes(ctx, x.asking, &got) {
		x.Alone(ctx)
		return
	}
	x.steps.desk.deliver(x.asked, got, nil)
}

// Failed records that the common ledger did not answer.
func (x *Asking) Failed(ctx context.Context, err error) {
	x.steps.ledger.away(ctx, err)
	x.Alone(ctx)
}
