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

type importanceKey struct{}

// WithImportance says how important the calls are that are made with the context: of those that wait for the same limit the more
// important ones go first.
func WithImportance(ctx context.Context, importance int) context.Context {
	return context.WithValue(ctx, importanceKey{}, importance)
}

// Importance is how important the calls are that are made with the context.
func Importance(ctx context.Context) int {
	if n, ok := ctx.Value(importanceKey{}).(int); ok {
		return n
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

type turnKey struct{}

// WithTurn gives the calls that are made with the context their turn. Calls without one go before those that have one.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnOf is the turn of the calls that are made with the context; the zero Turn is before all others.
func TurnOf(ctx context.Context) Turn {
	t, _ := ctx.Value(turnKey{}).(Turn)
	return t
}

type aroundWaitKey struct{}

// WithAroundWait has each Wait with the context call f before it asks for a grant, and what f returned before it returns. They may be called by several at
// once.
func WithAroundWait(ctx context.Context, f func() (after func())) context.Context {
	return context.WithValue(ctx, aroundWaitKey{}, f)
}

// aroundWait calls what WithAroundWait gave, and returns what is to be called when the wait is over.
func aroundWait(ctx context.Context) (after func()) {
	if f, ok := ctx.Value(aroundWaitKey{}).(func() func()); ok {
		return f()
	}
	return func() {}
}

// WithYield says that others may need the caller's place while it waits, as f tells. If they do, and its grant is more than a few seconds away, Wait returns a
// *WaitError, which tells when to come back: calls that went away one after the other are told one moment after the other, as fast as the limit
// lets them. Who has had a grant goes on: it would have to begin anew. f may be called by several at once, and often.
func WithYield(ctx context.Context, f func() bool) context.Context {
	return context.WithValue(ctx, yieldKey{}, &yielding{wanted: f})
}

type yieldKey struct{}

// yielding is how a caller's place is needed by others.
type yielding struct {
	wanted func() bool
	begun  atomic.Bool // the caller has had a grant
}

func yieldingOf(ctx context.Context) *yielding {
	y, _ := ctx.Value(yieldKey{}).(*yielding)
	return y
}

// isWanted tells whether others need the caller's place.
func (y *yielding) isWanted() bool { return y != nil && !y.begun.Load() && y.wanted() }

type grantedKey struct{}

// WithGranted has each Wait with the context call f when it has a grant, just before it returns: the call is about to be made.
// It may be called by several at once.
func WithGranted(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, grantedKey{}, f)
}

// granted tells who wants to know that a call is about to be made.
func granted(ctx context.Context) {
	if y := yieldingOf(ctx); y != nil {
		y.begun.Store(true)
	}
	if f, ok := ctx.Value(grantedKey{}).(func()); ok {
		f()
	}
}
