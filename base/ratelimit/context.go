package ratelimit

import "context"

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

type beforeWaitKey struct{}

// WithBeforeWait has each Wait with the context call f before it asks for a grant. It may be called by several at once.
func WithBeforeWait(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, beforeWaitKey{}, f)
}

func beforeWait(ctx context.Context) {
	if f, ok := ctx.Value(beforeWaitKey{}).(func()); ok {
		f()
	}
}
