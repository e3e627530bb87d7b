package ratelimit

import (
	"cmp"
	"context"
	"time"
)

// ImportanceUsual is the importance of calls that are made without one.
const ImportanceUsual = 20

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

type beforeWaitKey struct{}

// WithBeforeWait has each Wait with the context call f before it asks for a grant. It may be called by several at once.
func WithBeforeWait(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, beforeWaitKey{}, f)
}

type grantedKey struct{}

// WithGranted has each Wait with the context call f when it has a grant, just before it returns: the call is about to be made.
// It may be called by several at once.
func WithGranted(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, grantedKey{}, f)
}

// tell calls the function that the context has under a key, if any.
func tell(ctx context.Context, key any) {
	if f, ok := ctx.Value(key).(func()); ok {
		f()
	}
}
