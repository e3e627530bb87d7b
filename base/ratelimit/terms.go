package ratelimit

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"
)

// ImportanceUsual is the importance of calls without one. Calls of ImportanceSpare have no share of a limit: they get
// only what would otherwise stay unused.
const (
	ImportanceUsual = 20
	ImportanceSpare = -1
)

// Terms define how calls that are made with a context wait for their limits.
type Terms struct {
	// Importance orders calls that wait for the same limit: the more important ones go first.
	Importance int
	// Rank orders calls of the same importance. Calls without one go before those that have one.
	Rank Rank
	// AroundWait is called before each grant is requested, and the function that it returned before Wait returns; nil
	// for nothing. Both may be called concurrently.
	AroundWait func() (after func())
	// Yield reports whether others need the caller's place while it waits; nil means never. If they do and its grant is
	// more than a few seconds away, Wait returns a *WaitError whose After is the time to come back. Successive callers
	// get successive times, as fast as the limit allows. A caller that has had a grant keeps its place, because it would
	// have to start again from its first call. Yield may be called concurrently, and often.
	Yield func() bool
}

type termsKey struct{}

type terms struct {
	Terms
	hasGrant atomic.Bool // the caller has had a grant
}

// With returns a context whose calls wait on terms t.
func With(ctx context.Context, t Terms) context.Context {
	return context.WithValue(ctx, termsKey{}, &terms{Terms: t})
}

func termsOf(ctx context.Context) *terms {
	t, _ := ctx.Value(termsKey{}).(*terms)
	return t
}

// WithImportance is With for terms that only have an importance.
func WithImportance(ctx context.Context, importance int) context.Context {
	return With(ctx, Terms{Importance: importance})
}

// Importance returns the importance of calls that are made with the context.
func Importance(ctx context.Context) int {
	if t := termsOf(ctx); t != nil {
		return t.Importance
	}
	return ImportanceUsual
}

// Rank orders calls of the same importance that wait for the same limit.
type Rank struct {
	// At is compared first: the earlier one goes first.
	At time.Time
	// Number is compared where At is equal: the lower one goes first.
	Number int64
}

func (t Rank) compare(o Rank) int { return cmp.Or(t.At.Compare(o.At), cmp.Compare(t.Number, o.Number)) }

// RankOf returns the rank of calls that are made with the context. The zero Rank is before all others.
func RankOf(ctx context.Context) Rank {
	if t := termsOf(ctx); t != nil {
		return t.Rank
	}
	return Rank{}
}

// Waiting calls Terms.AroundWait, and returns what to call when the wait is over. Wait calls it. A caller that waits
// for a call which another makes for it calls it too.
func Waiting(ctx context.Context) (after func()) {
	if t := termsOf(ctx); t != nil && t.AroundWait != nil {
		return t.AroundWait()
	}
	return func() {}
}

// isWanted reports whether others need the caller's place.
func (t *terms) isWanted() bool { return t != nil && t.Yield != nil && !t.hasGrant.Load() && t.Yield() }

type grantedKey struct{}

// WithGranted returns a context with which each Wait calls f when it has a grant, just before it returns and the call
// is made. f may be called concurrently.
func WithGranted(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, grantedKey{}, f)
}

// Granted notes in the context that a call is about to be made, and calls the function of WithGranted. Wait calls it
// for its own context. Where the call is made for other callers too, it is called for each of their contexts.
func Granted(ctx context.Context) {
	if t := termsOf(ctx); t != nil {
		t.hasGrant.Store(true)
	}
	if f, ok := ctx.Value(grantedKey{}).(func()); ok {
		f()
	}
}
