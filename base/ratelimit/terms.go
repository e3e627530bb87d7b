package ratelimit

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"
)

// ImportanceUsual is the importance of calls that are made without one. Calls of ImportanceSpare have no share of a limit: what they get is what would pass
// unused.
const (
	ImportanceUsual = 20
	ImportanceSpare = -1
)

// Terms are how calls that are made with a context wait for their limits.
type Terms struct {
	// Importance is how important they are: of those that wait for the same limit the more important ones go first.
	Importance int
	// Turn is their place among those that are as important. Calls without one go before those that have one.
	Turn Turn
	// AroundWait is called before each grant is asked for, and what it returned before Wait returns; nil for nothing. They may be called by several at
	// once.
	AroundWait func() (after func())
	// Yield tells whether others need the caller's place while it waits; nil = never. If they do, and its grant is more than a few seconds away, Wait
	// returns a *WaitError, which tells when to come back: calls that went away one after the other are told one moment after the other, as
	// fast as the limit lets them. Who has had a grant goes on: it would have to begin anew. Yield may be called by several at once, and often.
	Yield func() bool
}

type termsKey struct{}

type terms struct {
	Terms
	begun atomic.Bool // the caller has had a grant
}

// With has the calls that are made with the context wait on terms.
func With(ctx context.Context, t Terms) context.Context {
	return context.WithValue(ctx, termsKey{}, &terms{Terms: t})
}

func termsOf(ctx context.Context) *terms {
	t, _ := ctx.Value(termsKey{}).(*terms)
	return t
}

// WithImportance is With for calls of which nothing else is said.
func WithImportance(ctx context.Context, importance int) context.Context {
	return With(ctx, Terms{Importance: importance})
}

// Importance is how important the calls are that are made with the context.
func Importance(ctx context.Context) int {
	if t := termsOf(ctx); t != nil {
		return t.Importance
	}
	return ImportanceUsual
}

// Turn is a call's place among those that are as important and wait for the same limit.
type Turn struct {
	// At comes first: the earlier one goes first.
	At time.Time
	// Number goes on where At is the same, the lower one first.
	Number int64
}

func (t Turn) compare(o Turn) int { return cmp.Or(t.At.Compare(o.At), cmp.Compare(t.Number, o.Number)) }

// TurnOf is the turn of the calls that are made with the context; the zero Turn is before all others.
func TurnOf(ctx context.Context) Turn {
	if t := termsOf(ctx); t != nil {
		return t.Turn
	}
	return Turn{}
}

// aroundWait calls what the terms say, and returns what is to be called when the wait is over.
func aroundWait(ctx context.Context) (after func()) {
	if t := termsOf(ctx); t != nil && t.AroundWait != nil {
		return t.AroundWait()
	}
	return func() {}
}

// isWanted tells whether others need the caller's place.
func (t *terms) isWanted() bool { return t != nil && t.Yield != nil && !t.begun.Load() && t.Yield() }

type grantedKey struct{}

// WithGranted has each Wait with the context call f when it has a grant, just before it returns: the call is about to be made.
// It may be called by several at once.
func WithGranted(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, grantedKey{}, f)
}

// granted tells who wants to know that a call is about to be made.
func granted(ctx context.Context) {
	if t := termsOf(ctx); t != nil {
		t.begun.Store(true)
	}
	if f, ok := ctx.Value(grantedKey{}).(func()); ok {
		f()
	}
}
